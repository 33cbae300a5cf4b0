"""Logins of the acting user, and the browsers and apps that may act for it."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.filters.access import AppFilterSet, LoginFilterSet, TrustedDeviceFilterSet
from accounts.models import Authorization, Login, TrustedDevice
from accounts.serializers.access import AppResource, LoginResource, TrustedDeviceResource
from accounts.services.access import revoke_app, revoke_device
from config.api.access import ANYONE, UNRESTRICTED
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet


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


class DeviceViewSet(ReadOnlyModelViewSet[Actor, TrustedDevice]):
    """Browsers that remember the acting user. They need no second factor."""

    serializer_class = TrustedDeviceResource
    filterset_class = TrustedDeviceFilterSet
    required_scopes = READ
    required_grant = ANYONE

    def get_queryset(self) -> QuerySet[TrustedDevice]:
        return TrustedDevice.objects.active().filter(user_id=self.viewer.person).select_related("user")

    @operation(WRITE, ANYONE)
    def destroy(self, request: Request, id: int) -> Response:
        """Forget a browser and log it out.

        It needs the second factor at its next sign-in.
        """
        revoke_device(self.actor, self.get_object())
        return Response({})


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

        Its tokens and refresh tokens are revoked, and also the personal access tokens that the app created.
        """
        revoke_app(self.actor, self.get_object())
        return Response({})
