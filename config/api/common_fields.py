"""Fields that many resources have: the ids of other objects, and the descriptions of fields with a common name."""

from typing import Any

from django.core.validators import RegexValidator
from rest_framework.serializers import IntegerField

from config.api import reasons
from config.api.paths import MAX_ID
from config.display.hidden_characters import HIDDEN

COMMON: dict[str, str] = {
    "id": "The id, which the platform assigns. It never changes.",
    "created": "The time of creation, in UTC.",
    "updated": "When it was last changed, in UTC.",
    "region": "The id of the region it is in (`GET /regions`).",
    "tags": "Labels to find it by, 3 to 50 characters each, compared exactly. Only unrestricted users change them.",
    "url": "Its path in the API, below the base address.",
    "username": "The name that the user signs in with.",
    "prefix": "Length of the network's prefix, in bits.",
    "label": "Its name.",
    "title": "The title of the charts.",
}
"""The `help_text` of a field takes precedence over these."""


class IdField(IntegerField):
    """The id of another object, in a body: a number that fits its column.

    The document shows no maximum: a larger id gets the reason that it is not valid.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(max_value=MAX_ID, **kwargs)


def printable(name: str) -> RegexValidator:
    """Return a validator for a line of text without invisible characters (`config.display.hidden_characters`)."""
    allowed = "it has no control characters, none that turn its direction, and none without a width"
    return RegexValidator(rf"\A[^{HIDDEN}]*\Z", reasons.not_valid(name, allowed))
