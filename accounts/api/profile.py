"""The acting user: who it is, and what it may do."""

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
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
from accounts.models import Level, User
from accounts.services.grants import granted_entities
from config.api.access import ANY_TOKEN, ANYONE
from config.api.fields import Absent
from config.api.responses import JSONResponse, NoContent
from config.api.schema import ErrorResource
from config.api.serializers import Resource
from config.api.views import ResourceViewSet


class Referrals(Resource):
    """USD and counts. Only for accounts that have paid at least 25.00 USD, and there are no payments yet."""

    code = CharField()
    url = URLField()
    total = IntegerField()
    completed = IntegerField()
    pending = IntegerField()
    credit = IntegerField()


class ProfileResource(Resource):
    uid = IntegerField(source="id", help_text="Never changes.")
    username = CharField()
    email = EmailField()
    verified_phone_number = CharField(allow_null=True)
    timezone = CharField(help_text="For clients to show times in; the API itself speaks UTC.")
    email_notifications = BooleanField()
    referrals = Absent(Referrals())
    ip_whitelist_enabled = BooleanField()
    lish_auth_method = ChoiceField(User.LishAuthMethod.choices)
    authorized_keys = ListField(child=CharField(), source="lish_authorized_keys", allow_null=True)
    two_factor_auth = BooleanField()
    restricted = BooleanField()
    authentication_type = ChoiceField(["password", "github"])

    class Meta:
        read_only = True


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
    id = IntegerField()
    label = CharField(read_only=True)
    permissions = ChoiceField(Level.choices, allow_null=True)


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
    scopes = {"retrieve": ANY_TOKEN}
    grants = {"retrieve": ANYONE}

    @staticmethod
    def objects(actor, path):
        return User.objects.filter(pk=actor.user_id)

    def retrieve(self, request) -> JSONResponse:
        return super().retrieve(request, id=self.actor.user_id)


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
    def show(self, request) -> HttpResponse:
        """List the acting user's grants.

        Any valid token may ask. An unrestricted user may do everything and has none: 204 without a body.
        """
        if not self.actor.restricted:
            return NoContent()
        on_account = {name: self.actor.may(name) for name in GlobalGrantsResource.names() - {"account_access"}}
        return JSONResponse(
            {
                "global": {"account_access": self.actor.account_access, **on_account},
                **granted_entities(self.actor),
            }
        )
