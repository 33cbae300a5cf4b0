"""What has been let in as the acting user: its logins, the browsers that are remembered, the apps."""

from django.conf import settings
from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    IntegerField,
    IPAddressField,
    URLField,
)

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.filters.access import AppFilterSet, LoginFilterSet, TrustedDeviceFilterSet
from accounts.models import Authorization, Login, TrustedDevice
from accounts.services.access import revoke_app, revoke_device
from config.api.access import ANYONE, UNRESTRICTED
from config.api.fields import Computed, Constant
from config.api.meanings import Meanings
from config.api.operations import operation
from config.api.serializers import Resource
from config.api.views import ReadOnlyModelViewSet


class LoginResource(Resource):
    """A user who signed in."""

    id = IntegerField()
    datetime = DateTimeField(source="created", help_text="When the login was begun, in UTC.")
    ip = CharField(help_text="The address that it came from.")
    restricted = BooleanField(help_text="Whether the user was restricted at the time.")
    username = CharField(help_text="The user who signed in.")
    status = Constant(
        ChoiceField(["successful", "failed"]),
        "successful",
        help_text=Meanings("How it ended.", {"successful": "The user is signed in.", "failed": "Not listed here."}),
    )
    successful = Constant(BooleanField(), True, help_text="Always true: others are not listed.")

    class Meta:
        read_only = True


class LoginViewSet(ReadOnlyModelViewSet[Actor, Login]):
    """The acting user's successful logins of the last 90 days, the newest first."""

    serializer_class = LoginResource
    filterset_class = LoginFilterSet
    required_scopes = READ
    required_grant = ANYONE
    ordering = ("-id",)

    def get_queryset(self) -> QuerySet[Login]:
        return Login.objects.recent().filter(user_id=self.viewer.person)


class AccountLoginViewSet(LoginViewSet):
    """Successful logins of all the account's users within the last 90 days, the newest first."""

    required_scopes = READ
    required_grant = UNRESTRICTED

    def get_queryset(self) -> QuerySet[Login]:
        return Login.objects.recent().filter(account_id=self.viewer.account_id)


class TrustedDeviceResource(Resource):
    """A browser that was told to remember the user."""

    id = IntegerField()
    created = DateTimeField(help_text="When the browser was told to remember the user, in UTC.")
    expiry = DateTimeField(help_text="When it is forgotten, in UTC; as a rule 30 days later.")
    user_agent = CharField(help_text="How the browser named itself.")
    last_authenticated = DateTimeField(help_text="When it was last used to sign in, in UTC.")
    last_remote_addr = IPAddressField(help_text="The address it was last used from.")

    class Meta:
        read_only = True


class DeviceViewSet(ReadOnlyModelViewSet[Actor, TrustedDevice]):
    """Browsers that were told to remember the acting user, and need no second factor."""

    serializer_class = TrustedDeviceResource
    filterset_class = TrustedDeviceFilterSet
    required_scopes = READ
    required_grant = ANYONE

    def get_queryset(self) -> QuerySet[TrustedDevice]:
        return TrustedDevice.objects.active().filter(user_id=self.viewer.person).select_related("user")

    @operation(WRITE, ANYONE)
    def destroy(self, request: Request, id: int) -> Response:
        """Forget a browser: it is logged out.

        It needs the second factor at its next sign-in.
        """
        revoke_device(self.actor, self.get_object())
        return Response({})


def thumbnail_url(client_id: str, there: bool) -> str | None:
    """Where the picture of a client is, null where it has none."""
    return f"{settings.SITE_URL}/v4/account/oauth-clients/{client_id}/thumbnail" if there else None


def site_of(redirect_uris: str) -> str:
    """The site of a client: where it has its users sent back to."""
    return "/".join(redirect_uris.split(" ")[0].split("/")[:3])


class AppResource(Resource):
    """An app that a user has given access."""

    id = IntegerField(help_text="The number of the authorization, by which it is revoked.")
    label = CharField(source="client.name", help_text="The name of the app.")
    thumbnail_url = Computed(
        URLField(allow_null=True),
        thumbnail_url,
        "client__client_id",
        "has_thumbnail",
        help_text="Where its picture is; null where it has none.",
    )
    scopes = CharField(help_text="What the app may do: scopes separated by spaces, `*` for all.")
    created = DateTimeField(help_text="When the user authorized it, in UTC.")
    expiry = DateTimeField(
        allow_null=True, help_text="When the last of its tokens ends, in UTC; null where one never does."
    )
    website = Computed(
        URLField(),
        site_of,
        "client__redirect_uris",
        help_text="Where to learn more about it: the origin of its redirect address.",
    )

    class Meta:
        read_only = True


class AppViewSet(ReadOnlyModelViewSet[Actor, Authorization]):
    """Apps that the acting user has authorized, one entry for each."""

    serializer_class = AppResource
    filterset_class = AppFilterSet
    required_scopes = READ
    required_grant = ANYONE

    def get_queryset(self) -> QuerySet[Authorization]:
        return (
            Authorization.objects.active()
            .for_api()
            .filter(user_id=self.viewer.person)
            .select_related("user", "client")
        )

    @operation(WRITE, ANYONE)
    def destroy(self, request: Request, id: int) -> Response:
        """End all access of an app, at once.

        Its tokens and refresh tokens end, and with them the personal tokens that it made.
        """
        revoke_app(self.actor, self.get_object())
        return Response({})
