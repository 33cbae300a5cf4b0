"""Personal access tokens of the acting user."""

from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.timezone import now
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, DateTimeField, IntegerField

from accounts.actors import Actor
from accounts.filters.tokens import PersonalTokenFilterSet
from accounts.models import PersonalToken, User
from accounts.scopes import parse_scopes
from accounts.services import tokens
from config.api.access import ANYONE
from config.api.fields import Computed
from config.api.operations import operation
from config.api.serializers import Resource
from config.api.views import ReadOnlyModelViewSet

READ = "account:read_only"
WRITE = "account:read_write"


NEVER = datetime(2999, 12, 12, 5)
"""The expiry that clients are shown of a token without one, in UTC: their field is never null."""


def shown_expiry(expiry: datetime | None) -> datetime:
    """The expiry of a token as it is shown: naive, in UTC."""
    if expiry is None:
        return NEVER
    return expiry.astimezone(UTC).replace(tzinfo=None) if expiry.tzinfo else expiry


class PersonalTokenResource(Resource):
    """A personal access token."""

    id = IntegerField(read_only=True)
    label = CharField(min_length=1, max_length=100, help_text="A name for the token; up to 100 characters.")
    scopes = CharField(read_only=True, help_text="What it may do: scopes separated by spaces, `*` for all.")
    token = CharField(
        source="prefix",
        read_only=True,
        help_text="The token: whole in the answer that creates it, its first 16 characters afterwards.",
    )
    created = DateTimeField(read_only=True, help_text="When it was created, in UTC.")
    expiry = Computed(
        DateTimeField(),
        shown_expiry,
        "expiry",
        ordered_by="expiry",  # null is a token that never ends; PostgreSQL sorts null after all times
        help_text=f"When it ends, in UTC; `{NEVER:%Y-%m-%dT%H:%M:%S}` where it never does.",
    )


class ScopesField(CharField):
    """Known scopes, separated by spaces or commas."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return " ".join(parse_scopes(super().to_internal_value(data)))
        except ValueError as error:
            raise ValidationError([str(error)]) from error


class FutureField(DateTimeField):
    """A time that is still to come."""

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
        help_text="A name for the token; up to 100 characters.",
    )
    scopes = ScopesField(
        required=False,
        help_text="What it may do: scopes separated by spaces or commas, by default those of the "
        "token that asks, and never more.",
    )
    expiry = FutureField(
        required=False, allow_null=True, help_text="When it ends, in UTC. By default, and with null, never."
    )


class PersonalTokenViewSet(ReadOnlyModelViewSet[Actor, PersonalToken]):
    """Personal access tokens of the acting user, until they expire. Nobody sees those of others."""

    serializer_class = PersonalTokenResource
    filterset_class = PersonalTokenFilterSet
    required_scopes = READ
    required_grant = ANYONE

    def get_queryset(self) -> QuerySet[PersonalToken]:
        return PersonalToken.objects.unexpired().filter(user_id=self.viewer.person)

    @operation(WRITE, ANYONE, request=PersonalTokenRequest, refusals=(403,))
    def create(self, request: Request) -> Response:
        """Create a personal access token. This answer alone shows it whole."""
        given = self.body()
        expiry = given.get("expiry")
        token, readable = tokens.create_token(
            User.objects.get(pk=self.actor.person),
            given.get("label"),
            given.get("scopes", " ".join(self.actor.scopes)),
            None if expiry is None or shown_expiry(expiry) == NEVER else expiry,
            self.actor,
            given.problems,
        )
        return Response({**self.get_serializer(token).data, "token": readable})

    @operation(WRITE, ANYONE)
    def update(self, request: Request, id: int) -> Response:
        """Change the label. Scopes and expiry stay as they were made."""
        token = self.get_object()
        given = self.body(partial=True)
        tokens.rename_token(self.actor, token, given.get("label"), given.problems)
        return Response(self.get_serializer(token).data)

    @operation(WRITE, ANYONE)
    def destroy(self, request: Request, id: int) -> Response:
        """Revoke a personal access token, at once.

        Whoever uses it is answered 401 from then on. Cannot be undone.
        """
        tokens.revoke_token(self.actor, self.get_object())
        return Response({})
