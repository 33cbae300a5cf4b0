"""Fields that many resources have: the ids of other things, and descriptions by the same name in the same sense."""

from typing import Any

from django.core.validators import RegexValidator
from rest_framework.serializers import IntegerField

from config.api import reasons
from config.api.paths import BIGGEST
from config.hidden_characters import HIDDEN

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
"""A field's own `help_text` comes before these."""


class IdField(IntegerField):
    """The id of another thing, in a body: a number that its column can hold.

    That is no bound to tell clients of: the reason for a larger one says that it is not valid.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(max_value=BIGGEST, **kwargs)


def printable(name: str) -> RegexValidator:
    """Lets a text of one line have any characters but those that nobody sees (`config.hidden_characters`)."""
    allowed = "it has no control characters, none that turn its direction, and none without a width"
    return RegexValidator(rf"\A[^{HIDDEN}]*\Z", reasons.not_valid(name, allowed))
