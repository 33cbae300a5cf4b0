"""The reasons of errors about a field, after the contract's patterns."""

from django.core import validators
from rest_framework import serializers
from rest_framework.validators import ProhibitSurrogateCharactersValidator

NOT_FOUND = "Not found"
UNAUTHORIZED = "Unauthorized"
INVALID_TOKEN = "Invalid Token"
SCOPE_LACKING = "Your OAuth token is not authorized to use this endpoint."
TOO_MANY_REQUESTS = "Too many requests"
METHOD_NOT_ALLOWED = "Method Not Allowed"
UNEXPECTED = "An unexpected error occurred"


def required(name: str) -> str:
    return f"{name} is required"


def not_valid(name: str) -> str:
    return f"{name} is not valid"


def bounds(name: str, low: float | None, high: float | None, unit: str = "") -> str:
    """``Label must be 3-64 characters``. Either bound may be None."""
    if low is not None and high is not None:
        span = f"{low}-{high}"
    elif high is not None:
        span = f"at most {high}"
    else:
        span = f"at least {low}"
    return f"{name.replace('_', ' ').capitalize()} must be {span}{unit}"


def describe(name: str, field: serializers.Field, item: bool = False) -> None:
    """Give `field` the contract's reasons in place of DRF's, where its declaration does not set its own.

    An `item` of a list is never missing, only wrong.
    """
    kept = getattr(field, "_kwargs", {}).get("error_messages", {})
    for code in field.error_messages:
        if code not in kept:
            missing = code == "required" or (code in ("null", "blank") and field.required and not item)
            field.error_messages[code] = required(name) if missing else not_valid(name)
    _describe_bounds(name, field)
    child = getattr(field, "child", None)
    if isinstance(child, serializers.BaseSerializer):
        child.allow_null = False  # which the framework lets be what the list may be
        child.error_messages["null"] = not_valid(name)  # all else it says itself
    elif isinstance(child, serializers.Field):
        describe(name, child, item=True)


def _describe_bounds(name: str, field: serializers.Field) -> None:
    low_length, high_length = getattr(field, "min_length", None), getattr(field, "max_length", None)
    low_value, high_value = getattr(field, "min_value", None), getattr(field, "max_value", None)
    length = bounds(name, low_length, high_length, " items" if hasattr(field, "child") else " characters")
    value = bounds(name, low_value, high_value)
    for check in field.validators:
        if isinstance(check, validators.MinLengthValidator | validators.MaxLengthValidator):
            check.message = length
        elif isinstance(check, validators.MinValueValidator | validators.MaxValueValidator):
            check.message = value
        elif isinstance(check, validators.ProhibitNullCharactersValidator | ProhibitSurrogateCharactersValidator):
            check.message = not_valid(name)
    if "min_length" in field.error_messages:  # lists check their length by themselves
        field.error_messages.update(min_length=length, max_length=length)
    if low_length and "blank" in field.error_messages:
        field.error_messages["blank"] = length
