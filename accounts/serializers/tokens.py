"""Serializers of personal access tokens."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.timezone import now
from rest_framework.exceptions import ValidationError
from rest_framework.serializers import CharField, DateTimeField, IntegerField

from accounts.scopes import read_scopes
from config.api.fields import Computed, PlatformTextField
from config.api.serializers import Resource

NEVER = datetime(2999, 12, 12, 5)
"""The expiry shown for a token without one, in UTC: clients never get null in this field."""


def shown_expiry(expiry: datetime | None) -> datetime:
    """Return the expiry of a token as it is shown: naive, in UTC."""
    if expiry is None:
        return NEVER
    return expiry.astimezone(UTC).replace(tzinfo=None) if expiry.tzinfo else expiry


class PersonalTokenResource(Resource):
    """A personal access token."""

    id = IntegerField(read_only=True)
    label = CharField(min_length=1, max_length=100, help_text="A name for the token, up to 100 characters.")
    scopes = PlatformTextField(
        read_only=True, help_text="The scopes of the token, separated by spaces. `*` means all scopes."
    )
    token = CharField(
        source="prefix",
        read_only=True,
        help_text="The token. Only the answer that creates the token shows all of it. Other answers show "
        "its first 16 characters.",
    )
    created = DateTimeField(read_only=True, help_text="The time at which the token was created, in UTC.")
    expiry = Computed(
        DateTimeField(),
        shown_expiry,
        "expiry",
        ordered_by="expiry",  # null is a token that never ends; PostgreSQL sorts null after all times
        help_text=f"The time at which the token expires, in UTC. `{NEVER:%Y-%m-%dT%H:%M:%S}` means never.",
    )


class ScopesField(CharField):
    """Known scopes, separated by spaces or commas."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return " ".join(read_scopes(super().to_internal_value(data)))
        except ValueError as error:
            raise ValidationError([str(error)]) from error


class FutureField(DateTimeField):
    """A time in the future."""

    def to_internal_value(self, value: Any) -> Any:
        moment = super().to_internal_value(value)
        if moment <= now():
            raise ValidationError([f"{self.field_name} must be in the future"])
        return moment


class PersonalTokenRequest(Resource):
    """The body of a new token."""

    label = CharField(
        min_length=1,
        max_length=100,
        default="Personal access token",
        help_text="A name for the token, up to 100 characters.",
    )
    scopes = ScopesField(
        required=False,
        help_text="The scopes of the new token, separated by spaces or commas. The default and the maximum "
        "are the scopes of the calling token.",
    )
    expiry = FutureField(
        required=False,
        allow_null=True,
        help_text="The time at which the token expires, in UTC. If missing or null, the token never expires.",
    )


def expiry_of(given: Mapping[str, Any]) -> datetime | None:
    """Return the expiry for the service, from the valid fields of a body. None if the token never expires."""
    expiry = given.get("expiry")
    return None if expiry is None or shown_expiry(expiry) == NEVER else expiry
