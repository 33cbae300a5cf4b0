"""Logins, remembered browsers, and the apps that users authorized."""

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.timezone import now

from accounts.admin.events import SinceFilter
from accounts.admin.filters import AccountFilter, UsersAccountFilter
from accounts.admin.panels import staff
from accounts.models import Authorization, Login, TrustedDevice, User
from accounts.services import access
from config.admin.pages import ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, link, moment
from config.admin.verbs import Verb
from config.display.statuses import GOOD, QUIET, pill


def forget(request: HttpRequest, device: TrustedDevice) -> str:
    access.revoke_device(staff(request, device.user.account_id or 0), device)
    return "forgotten."


def revoke(request: HttpRequest, app: Authorization) -> str:
    access.revoke_app(staff(request, app.user.account_id or 0), app)
    return "the app has no access any more."


def address_of(term: str) -> str | None:
    """Return the IP address that `term` spells, in its normal form, or None."""
    try:
        return forms.GenericIPAddressField().clean(term)
    except forms.ValidationError:
        return None


def users_named(term: str) -> list[int]:
    """Return the id of the user of this name, in any case.

    It is looked up first, so that no list is scanned for names.
    """
    return list(User.objects.filter(username__iexact=term).values_list("pk", flat=True))


@admin.register(Login)
class LoginPage(ReadOnlyPage):
    task = Task.RECORDS
    list_display = ("when", "by", "account", "ip", "access")
    list_select_related = ("account", "user")
    list_filter = (SinceFilter, AccountFilter)
    link_filters = ("account__id__exact",)
    search_fields = ("=pk",)
    search_help_text = "A username, or an IP address in any spelling."
    ordering = ("-id",)
    sortable_by = ()
    fields = ("when", "by", "account", "ip", "access")

    def matches(self, term: str) -> Q:
        address = address_of(term)
        if address:
            return Q(ip=address)
        # Rows of deleted users keep the username.
        return Q(user__in=users_named(term)) | Q(username=term) | super().matches(term)

    @admin.display(description="When")
    def when(self, login: Login) -> SafeString:
        return moment(login.created)

    @admin.display(description="User")
    def by(self, login: Login) -> str:
        return link(login.user, login.username) if login.user else f"{login.username} (removed)"

    @admin.display(description="Access at that time")
    def access(self, login: Login) -> str:
        return "restricted" if login.restricted else "unrestricted"


@admin.register(TrustedDevice)
class TrustedDevicePage(ReadOnlyPage):
    task = Task.CUSTOMERS
    list_display = ("id", "user", "browser", "last_from", "seen", "state", "expires")
    list_display_links = ("id", "browser")
    list_select_related = ("user",)
    list_filter = (UsersAccountFilter,)
    search_fields = ("=pk",)
    search_help_text = "A username, or the IP address that a browser last came from."
    secret = ("digest",)
    ordering = ("-id",)
    sortable_by = ()
    fields = ("user", "browser", "last_from", "seen", "added", "state", "expires")
    verbs = (
        Verb(
            "forget", "Forget", forget, danger=True, permission="delete",
            confirm="The browser is logged out at its next page. The next login needs the second factor again.",
        ),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[TrustedDevice]:
        return super().get_queryset(request).select_related("user")

    def matches(self, term: str) -> Q:
        address = address_of(term)
        if address:
            return Q(last_remote_addr=address)
        return super().matches(term) | Q(user__in=users_named(term))

    @admin.display(description="Browser")
    def browser(self, device: TrustedDevice) -> str:
        return device.user_agent or NOTHING

    @admin.display(description="Last from")
    def last_from(self, device: TrustedDevice) -> str:
        return device.last_remote_addr

    @admin.display(description="Last seen")
    def seen(self, device: TrustedDevice) -> SafeString:
        return moment(device.last_authenticated)

    @admin.display(description="Remembered since")
    def added(self, device: TrustedDevice) -> SafeString:
        return moment(device.created)

    @admin.display(description="State")
    def state(self, device: TrustedDevice) -> SafeString:
        return pill("remembered", GOOD) if device.expiry > now() else pill("expired", QUIET)

    @admin.display(description="Until")
    def expires(self, device: TrustedDevice) -> SafeString:
        return moment(device.expiry)


@admin.register(Authorization)
class AuthorizationPage(ReadOnlyPage):
    """Apps that users authorized to act for them."""

    task = Task.CUSTOMERS
    list_display = ("id", "user", "app", "scopes", "given", "ends")
    list_select_related = ("user", "client")
    list_filter = (UsersAccountFilter,)
    link_filters = ("user__account__id__exact",)
    search_fields = ("=pk", "client__client_id")
    search_help_text = "A username or a client id."
    ordering = ("-id",)
    sortable_by = ()
    fields = ("user", "app", "scopes", "given", "ends")
    verbs = (
        Verb(
            "revoke", "Revoke", revoke, danger=True, permission="delete",
            confirm="Revokes all tokens of the app for this user, and the tokens that the app created. The app"
            " can ask the"
            " user again.",
        ),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Authorization]:
        rows = super().get_queryset(request).select_related("user", "client")
        return rows.defer("client__client_secret", "client__thumbnail")

    def matches(self, term: str) -> Q:
        return super().matches(term) | Q(user__in=users_named(term))

    @admin.display(description="App")
    def app(self, authorization: Authorization) -> SafeString:
        return link(authorization.client, authorization.client.name or authorization.client.client_id)

    @admin.display(description="Given")
    def given(self, authorization: Authorization) -> SafeString:
        return moment(authorization.created)

    @admin.display(description="Expires")
    def ends(self, authorization: Authorization) -> str:
        return moment(authorization.expiry) if authorization.expiry else "set when the app gets its next token"
