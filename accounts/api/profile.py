"""The acting user: who it is, and what it may do."""

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    EmailField,
    IntegerField,
    ListField,
    URLField,
)

from accounts.actors import Actor
from accounts.api.scopes import WRITE
from accounts.models import Level, User
from accounts.services import profile
from accounts.services.grants import granted_entities
from accounts.ssh_keys import MAX_KEY_LENGTH
from config.api.access import ANY_TOKEN, ANYONE
from config.api.fields import Absent
from config.api.paths import BIGGEST, PathParameters
from config.api.reasons import required
from config.api.responses import JSONResponse, NoContent
from config.api.schema import ErrorResource
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

AUTHENTICATION_TYPES = list(
    dict.fromkeys(["password", "github", *([settings.OPENID.authentication_type] if settings.OPENID else [])])
)
"""Those that clients know, and the identifier of the provider there is."""


class Referrals(Resource):
    """USD and counts. Only for accounts that have paid at least 25.00 USD, and there are no payments yet."""

    code = CharField()
    url = URLField()
    total = IntegerField()
    completed = IntegerField()
    pending = IntegerField()
    credit = IntegerField()


class ProfileResource(Resource):
    uid = IntegerField(source="id", read_only=True, help_text="Never changes.")
    username = CharField(read_only=True)
    email = EmailField(max_length=128)
    verified_phone_number = CharField(allow_null=True, read_only=True)
    timezone = CharField(max_length=64, help_text="For clients to show times in; the API itself speaks UTC.")
    email_notifications = BooleanField()
    referrals = Absent(Referrals())
    ip_whitelist_enabled = BooleanField(help_text="Cannot be enabled any more.")
    lish_auth_method = ChoiceField(User.LishAuthMethod.choices)
    authorized_keys = ListField(
        child=CharField(max_length=MAX_KEY_LENGTH), max_length=100, source="lish_authorized_keys", allow_null=True
    )
    two_factor_auth = BooleanField(help_text="Here it can only be turned off.")
    restricted = BooleanField(help_text="A user may restrict itself, and never lift that.")
    authentication_type = ChoiceField(AUTHENTICATION_TYPES, read_only=True)


class GlobalGrantsResource(Resource):
    account_access = ChoiceField(Level.choices, allow_null=True)
    add_computes = BooleanField()
    add_databases = BooleanField()
    add_domains = BooleanField()
    add_firewalls = BooleanField()
    add_images = BooleanField()
    add_longview = BooleanField()
    add_nodebalancers = BooleanField()
    add_stackscripts = BooleanField()
    add_volumes = BooleanField()
    cancel_account = BooleanField()
    longview_subscription = BooleanField()


class GrantResource(Resource):
    id = IntegerField(min_value=1, max_value=BIGGEST)
    label = CharField(read_only=True)
    permissions = ChoiceField(Level.choices, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """An entry is whole, in a PUT too, which may leave out entries and kinds."""
        missing = {name: [required(name)] for name in ("id", "permissions") if name not in attrs}
        if missing:
            raise ValidationError(missing)
        return attrs


def _grants() -> GrantResource:
    return GrantResource(many=True, required=False)


class GrantsResource(Resource):
    """Kinds of entity the user has no grant on are left out."""

    global_ = GlobalGrantsResource()
    compute = _grants()
    database = _grants()
    domain = _grants()
    firewall = _grants()
    image = _grants()
    longview = _grants()
    nodebalancer = _grants()
    stackscript = _grants()
    volume = _grants()


class ProfileViewSet(ResourceViewSet[Actor, User]):
    """The acting user. Any valid token may ask, whatever its scopes."""

    resource = ProfileResource
    scopes = {"retrieve": ANY_TOKEN, "update": WRITE}
    grants = dict.fromkeys(scopes, ANYONE)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[User]:
        return User.objects.filter(pk=actor.person)

    def retrieve(self, request: Request, **path: Any) -> JSONResponse:
        return super().retrieve(request, id=self.actor.user_id)

    def update(self, request: Request) -> JSONResponse:
        """Change what is given of the acting user's own profile."""
        return self.answer(profile.update(self.actor, self.validated(partial=True)))


def shown_grants(user: Actor) -> HttpResponse:
    """The grants of a user, as its own actor: 204 without a body for an unrestricted one, which has none."""
    if not user.restricted:
        return NoContent()
    on_account = {name: user.may(name) for name in GlobalGrantsResource.names() - {"account_access"}}
    return JSONResponse({"global": {"account_access": user.account_access, **on_account}, **granted_entities(user)})


class GrantsViewSet(ResourceViewSet[Actor, User]):
    """What the acting user may do."""

    resource = GrantsResource
    scopes = {"show": ANY_TOKEN}
    grants = {"show": ANYONE}

    @extend_schema(
        responses={
            200: GrantsResource,
            204: OpenApiResponse(description="The user is unrestricted and needs no grants."),
            "default": ErrorResource,
        }
    )
    def show(self, request: Request) -> HttpResponse:
        """List the acting user's grants.

        Any valid token may ask. An unrestricted user may do everything and has none: 204 without a body.
        """
        return shown_grants(self.actor)
