"""Personal access tokens of the acting user."""

from typing import Any

from django.db.models import QuerySet
from django.utils.timezone import now
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.serializers import CharField, DateTimeField, IntegerField

from accounts.actors import Actor
from accounts.models import PersonalToken, User
from accounts.scopes import parse_scopes
from accounts.services import tokens
from config.api.access import ANYONE
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

READ = "account:read_only"
WRITE = "account:read_write"


class PersonalTokenResource(Resource):
    id = IntegerField(read_only=True)
    label = CharField(min_length=1, max_length=100)
    scopes = CharField(read_only=True, help_text="Separated by spaces; * is all.")
    token = CharField(
        source="prefix", read_only=True, help_text="Whole when it is created, later its first 16 characters."
    )
    created = DateTimeField(read_only=True)
    expiry = DateTimeField(read_only=True, allow_null=True, help_text="Null: it does not expire.")

    class Meta:
        filterable = ("label", "created")


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
    label = CharField(min_length=1, max_length=100, default="Personal access token")
    scopes = ScopesField(
        required=False, help_text="Separated by spaces or commas; by default those of the token that asks."
    )
    expiry = FutureField(required=False, allow_null=True, help_text="By default it does not expire.")


class PersonalTokenViewSet(ResourceViewSet[Actor, PersonalToken]):
    """Personal access tokens of the acting user, until they expire. Nobody sees those of others."""

    resource = PersonalTokenResource
    requests = {"create": PersonalTokenRequest}
    scopes = {"list": READ, "retrieve": READ, "create": WRITE, "update": WRITE, "destroy": WRITE}
    grants = dict.fromkeys(scopes, ANYONE)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[PersonalToken]:
        return PersonalToken.objects.unexpired().filter(user_id=actor.person)

    def create(self, request: Request) -> JSONResponse:
        """Create a personal access token. This answer alone shows it whole."""
        given = self.validated()
        token, readable = tokens.create_token(
            User.objects.get(pk=self.actor.person),
            given["label"],
            given.get("scopes", " ".join(self.actor.scopes)),
            given.get("expiry"),
            self.actor,
        )
        return JSONResponse({**self.resource.shape().of_instance(token), "token": readable})

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change the label. Scopes and expiry stay as they were made."""
        token = self.get_entity()
        given = self.validated(partial=True)
        tokens.rename_token(self.actor, token, given.get("label", token.label))
        return self.answer(token)

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Revoke a personal access token, at once."""
        tokens.revoke_token(self.actor, self.get_entity())
        return JSONResponse()
