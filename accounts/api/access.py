"""What has been let in as the acting user: its logins, the browsers that are remembered, the apps."""

from django.conf import settings
from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.serializers import BooleanField, CharField, DateTimeField, IntegerField, URLField

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.models import Authorization, Login, TrustedDevice
from accounts.services.access import revoke_app, revoke_device
from config.api.access import ANYONE, UNRESTRICTED
from config.api.fields import Computed
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet


class LoginResource(Resource):
    id = IntegerField()
    datetime = DateTimeField(source="created")
    ip = CharField()
    restricted = BooleanField(help_text="Whether the user was restricted then.")
    username = CharField()

    class Meta:
        read_only = True


class LoginViewSet(ResourceViewSet[Actor, Login]):
    """The acting user's successful logins of the last 90 days, the newest first."""

    resource = LoginResource
    ordering = ("-id",)
    scopes = {"list": READ, "retrieve": READ}
    grants = dict.fromkeys(scopes, ANYONE)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Login]:
        return Login.objects.recent().filter(user_id=actor.person)


class AccountLoginViewSet(LoginViewSet):
    """Successful logins of all the account's users within the last 90 days, the newest first."""

    scopes = {"list": READ, "retrieve": READ}
    grants = dict.fromkeys(scopes, UNRESTRICTED)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Login]:
        return Login.objects.recent().filter(account_id=actor.account_id)


class TrustedDeviceResource(Resource):
    id = IntegerField()
    created = DateTimeField()
    expiry = DateTimeField()
    user_agent = CharField()
    last_authenticated = DateTimeField()
    last_remote_addr = CharField()

    class Meta:
        read_only = True


class DeviceViewSet(ResourceViewSet[Actor, TrustedDevice]):
    """Browsers that were told to remember the acting user, and need no second factor."""

    resource = TrustedDeviceResource
    scopes = {"list": READ, "retrieve": READ, "destroy": WRITE}
    grants = dict.fromkeys(scopes, ANYONE)
    related = ("user",)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[TrustedDevice]:
        return TrustedDevice.objects.active().filter(user_id=actor.person)

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Forget a browser: it is logged out."""
        revoke_device(self.actor, self.get_entity())
        return JSONResponse()


def thumbnail_url(client_id: str, there: bool) -> str | None:
    """Where the picture of a client is, null where it has none."""
    return f"{settings.SITE_URL}/v4/account/oauth-clients/{client_id}/thumbnail" if there else None


def site_of(redirect_uris: str) -> str:
    """The site of a client: where it has its users sent back to."""
    return "/".join(redirect_uris.split(" ")[0].split("/")[:3])


class AppResource(Resource):
    id = IntegerField()
    label = CharField(source="client.name")
    thumbnail_url = Computed(URLField(allow_null=True), thumbnail_url, "client__client_id", "has_thumbnail")
    scopes = CharField()
    created = DateTimeField()
    expiry = DateTimeField(allow_null=True, help_text="Null: until it is revoked.")
    website = Computed(URLField(), site_of, "client__redirect_uris")

    class Meta:
        read_only = True
        filterable = ("created", "expiry")


class AppViewSet(ResourceViewSet[Actor, Authorization]):
    """Apps that the acting user has authorized, one entry for each."""

    resource = AppResource
    scopes = {"list": READ, "retrieve": READ, "destroy": WRITE}
    grants = dict.fromkeys(scopes, ANYONE)
    related = ("user", "client")

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Authorization]:
        return Authorization.objects.active().for_api().filter(user_id=actor.person)

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """End all access of an app, at once."""
        revoke_app(self.actor, self.get_entity())
        return JSONResponse()
