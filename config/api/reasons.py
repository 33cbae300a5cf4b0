"""The reasons of errors about a field, in the contract's patterns."""

import re
from collections.abc import Callable, Mapping
from inspect import isfunction
from typing import Any

from django.conf import settings
from django.core import validators
from django.core.exceptions import ValidationError
from rest_framework import serializers
from rest_framework.validators import ProhibitSurrogateCharactersValidator

from config.api.paths import MAX_ID
from config.errors import span, wrong_length

ITEM = re.compile(r"(?:\[[0-9]+\])+$")
"""The position of an item at the end of a path. Reasons of the item name the list."""
NOT_FOUND = "Not found"
UNAUTHORIZED = "Unauthorized"
INVALID_TOKEN = "Invalid Token"
SCOPE_LACKING = "Your OAuth token is not authorized to use this endpoint."
TOO_MANY_REQUESTS = "Too many requests"
METHOD_NOT_ALLOWED = "Method Not Allowed"
NO_ROOM = "There is no room to store this now, try again later"
LOCKED = "Another change is in progress, try again"
UNAVAILABLE = "The service is not available, try again"
MAY_BE_MADE = (
    "The connection to the database was lost. If this request changes something, the change may have been made: "
    "check before you send it again"
)
UNEXPECTED = "An unexpected error occurred"
TEXTS_TOO_LONG = (
    "The texts of the form are too long. They must be at most "
    f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE / 1024**2:.3g} MB together."
)
"""The reason for a form without a file that is too large. Forms with a file have reasons of their own."""


def required(name: str) -> str:
    return f"{name} is required"


def not_valid(name: str, allowed: str = "") -> str:
    """Return ``label is not valid``, followed by a description of valid values if there is one: ``: letters and
    digits only``.
    """
    return f"{name} is not valid: {allowed}" if allowed else f"{name} is not valid"


def bounds(name: str, low: float | None, high: float | None, unit: str = "") -> str:
    """Return the reason for a number, or a number of items, out of its bounds: ``port must be 1-65535``.

    One of the bounds may be None. For the length of a text, use `wrong_length`.
    """
    return f"{name} must be {span(low, high)}{unit}"


def spelled(path: str) -> str:
    """Return the name of the field at `path` in a reason: the path, or only its part within an item of a list."""
    return ITEM.sub("", path).rpartition("].")[2]


def describe(name: str, field: serializers.Field, item: bool = False) -> None:
    """Give `field` the contract's reasons in place of DRF's, unless its declaration sets its own.

    An `item` of a list is never missing, only wrong.
    """
    kept = getattr(field, "_kwargs", {}).get("error_messages", {})
    _describe_forms(name, field)
    for code in field.error_messages:
        if code not in kept:
            missing = code == "required" or (code in ("null", "blank") and field.required and not item)
            field.error_messages[code] = required(name) if missing else not_valid(name)
    _describe_bounds(name, field, kept)
    child = getattr(field, "child", None)
    if isinstance(child, serializers.BaseSerializer):
        child.allow_null = False  # DRF copies `allow_null` from the list to its items
        child.error_messages["null"] = not_valid(name)  # the nested resource has its own other reasons
    elif isinstance(child, serializers.Field):
        describe(name, child, item=True)


def _describe_forms(name: str, field: serializers.Field) -> None:
    """Give the checks of addresses and other formats the contract's reason.

    The checks copied DRF's sentence from the field when they were made.
    """
    for check in field.validators:
        if isinstance(check, validators.EmailValidator | validators.RegexValidator) and check.message == type(
            field
        ).default_error_messages.get("invalid"):
            check.message = not_valid(name)
    # The checks of addresses are plain functions with a sentence of their own.
    field.validators = [
        _reworded(check, not_valid(name)) if isfunction(check) else check for check in field.validators
    ]


def _reworded(check: Callable[[Any], None], reason: str) -> Callable[[Any], None]:
    """Return a validator that refuses the same values as `check`, with this reason."""

    def validate(value: Any) -> None:
        try:
            check(value)
        except ValidationError:
            raise ValidationError(reason) from None

    return validate


def _describe_bounds(name: str, field: serializers.Field, kept: Mapping[str, str]) -> None:
    low_length, high_length = getattr(field, "min_length", None), getattr(field, "max_length", None)
    low_value, high_value = getattr(field, "min_value", None), getattr(field, "max_value", None)
    items = hasattr(field, "child")
    length = bounds(name, low_length, high_length, " items") if items else wrong_length(low_length, high_length)
    # This bound says nothing to a client: it is the bound of the columns of ids.
    value = not_valid(name) if high_value == MAX_ID else bounds(name, low_value, high_value)
    for check in field.validators:
        if isinstance(check, validators.MinLengthValidator | validators.MaxLengthValidator):
            check.message = length
        elif isinstance(check, validators.MinValueValidator | validators.MaxValueValidator):
            check.message = kept.get(check.code, value)
        elif isinstance(check, validators.ProhibitNullCharactersValidator | ProhibitSurrogateCharactersValidator):
            check.message = not_valid(name)
    if "min_length" in field.error_messages:  # lists check their length themselves
        field.error_messages.update(min_length=length, max_length=length)
    if low_length and "blank" in field.error_messages:
        field.error_messages["blank"] = length
