"""Descriptions of fields that many resources have by the same name and in the same sense.

A field's own `help_text` comes before these.
"""

COMMON: dict[str, str] = {
    "id": "Given by the platform, and never changed.",
    "created": "When it was made, in UTC.",
    "updated": "When it was last changed, in UTC.",
    "region": "The id of the region it is in (`GET /regions`).",
    "tags": "Labels to find it by, 3 to 50 characters each, compared exactly. Only unrestricted users change them.",
    "url": "Its path in the API, below the base address.",
    "username": "The name that the user signs in with.",
    "prefix": "Length of the network's prefix, in bits.",
    "label": "Its name.",
    "title": "What the charts show, in words.",
}
