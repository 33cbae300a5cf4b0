"""Pages to view and to end OAuth clients and tokens. They show no token, checksum or secret.

They replace django-oauth-toolkit's own pages, which allow staff to edit clients' secrets. Authorization codes and
ID tokens have no page at all.
"""

from typing import Any, ClassVar

import oauth2_provider.admin  # noqa: F401  (registers its pages, so that we can take them away)
from django.contrib import admin
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import now

from accounts.admin.filters import AccountFilter, UsersAccountFilter
from accounts.admin.panels import ROWS_SHOWN, account_panel, staff
from accounts.models import (
    Account,
    Authorization,
    OAuthAccessToken,
    OAuthClient,
    OAuthGrant,
    OAuthIDToken,
    OAuthRefreshToken,
)
from accounts.models.oauth import has
from accounts.services import access, oauth_clients
from accounts.services.oauth_clients import Ended
from config.admin.pages import Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, lines, link, list_of, moment
from config.admin.verbs import Verb
from config.display.integers import is_id
from config.display.statuses import BAD, GOOD, QUIET, pill
from config.errors import Invalid

admin.site.unregister((OAuthClient, OAuthAccessToken, OAuthRefreshToken, OAuthGrant, OAuthIDToken))

Status = OAuthClient.Status
CLIENT_UNREAD = ("client_secret", "thumbnail")
"""Columns that no page of a client reads: the first is secret, the second is large."""


def activate(request: HttpRequest, client: OAuthClient) -> str:
    before = client.status
    set_status(request, client, Status.ACTIVE)
    if before == Status.SUSPENDED:
        return "active. Users have to authorize the app again."
    return "active. The app works again with its tokens."


def disable(request: HttpRequest, client: OAuthClient) -> str:
    set_status(request, client, Status.DISABLED)
    return "disabled. Its tokens are kept, and work again when you activate it."


def suspend(request: HttpRequest, client: OAuthClient) -> str:
    ended = set_status(request, client, Status.SUSPENDED)
    return f"suspended. Authorizations that ended: {ended.authorizations}, tokens: {ended.tokens}."


def set_status(request: HttpRequest, client: OAuthClient, status: str) -> Ended:
    actor = staff(request, client.account_id) if client.account_id else None
    return oauth_clients.set_status(actor, client, status)


def revoke_access(request: HttpRequest, token: OAuthAccessToken) -> str:
    access.revoke_token(staff(request, token.user.account_id), token)
    return "revoked, with its refresh token."


def revoke_refresh(request: HttpRequest, token: OAuthRefreshToken) -> str:
    if token.revoked is not None:
        raise Invalid("The token is revoked already.")
    access.revoke_token(staff(request, token.user.account_id), token)
    return "revoked, with its access token."


@admin.register(OAuthClient)
class OAuthClientPage(ReadOnlyPage):
    """OAuth clients, which their accounts manage. Staff can only stop them and activate them again."""

    task = Task.CUSTOMERS
    list_display = ("client_id", "label", "account", "client_type", "state", "age")
    list_select_related = ("account",)
    list_filter = ("status", AccountFilter, "client_type")
    link_filters = ("account__id__exact",)
    search_fields = ("=pk", "client_id", "^name")
    search_help_text = "A client id, or how a label, or the company or email of its account begins."
    secret = CLIENT_UNREAD
    view_on_site = False  # the toolkit's own pages for clients are removed
    ordering = ("-id",)
    sortable_by = ()
    fieldsets = (
        (None, {"fields": (
            ("label", "picture"), ("client_id", "state"), ("account", "kind"), "redirects", ("created", "updated"),
        )}),
    )  # fmt: skip
    verbs = (
        Verb(
            "disable", "Disable", disable, offered=lambda client: client.status == Status.ACTIVE,
            confirm=(
                "Pauses the app: it gets no tokens, and its tokens are answered 401. If you activate it later, its"
                " tokens work again."
            ),
        ),
        Verb(
            "suspend", "Suspend", suspend, danger=True, offered=lambda client: client.status != Status.SUSPENDED,
            confirm=(
                "For abuse: revokes all codes, tokens and authorizations of the app permanently. If you activate it"
                " later, it has to ask every user again."
            ),
        ),
        Verb(
            "activate", "Activate", activate, offered=lambda client: client.status != Status.ACTIVE,
            confirm="The app can ask users for access again.",
        ),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[OAuthClient]:
        return super().get_queryset(request).annotate(has_thumbnail=has("thumbnail"))

    def matches(self, term: str) -> Q:
        if is_id(term):
            return super().matches(term)
        owner = Account.objects.filter(Q(company__istartswith=term) | Q(email__istartswith=term))
        return super().matches(term) | Q(account__in=owner)

    def panels(self, request: HttpRequest, obj: OAuthClient) -> list[Panel]:
        return [authorizations_panel(obj), tokens_panel(obj)]

    @admin.display(description="Label")
    def label(self, client: OAuthClient) -> str:
        return client.name or NOTHING

    @admin.display(description="Kind")
    def kind(self, client: OAuthClient) -> str:
        return "public (PKCE, no secret)" if client.client_type == OAuthClient.CLIENT_PUBLIC else "confidential"

    @admin.display(description="Redirect addresses")
    def redirects(self, client: OAuthClient) -> SafeString:
        return lines(client.redirect_uris.split()) or NOTHING

    @admin.display(description="Picture")
    def picture(self, client: OAuthClient) -> SafeString:
        if not client.has_thumbnail:
            return NOTHING
        address = f"/v4/account/oauth-clients/{client.client_id}/thumbnail"
        return format_html('<img src="{}" alt="" width="48" height="48">', address)

    @admin.display(description="State")
    def state(self, client: OAuthClient) -> SafeString:
        return client_state(client)


def client_state(client: OAuthClient) -> SafeString:
    if client.effective_status != client.status:
        return pill(f"{client.status}, account suspended", BAD)
    return pill(client.status, GOOD if client.status == Status.ACTIVE else BAD)


def authorizations_panel(client: OAuthClient) -> Panel:
    rows = Authorization.objects.filter(client=client).select_related("user").order_by("-pk")[:ROWS_SHOWN]
    return Panel.of(
        "Users who authorized it",
        ("User", "Scopes", "Since", ""),
        ((link(each.user), each.scopes, moment(each.created), link(each, "authorization")) for each in rows),
        more=list_of(Authorization, q=client.client_id),
    )


def tokens_panel(client: OAuthClient) -> Panel:
    access = OAuthAccessToken.objects.filter(application=client, expires__gt=now()).count()
    refresh = OAuthRefreshToken.objects.filter(application=client, revoked=None).count()
    return Panel.of(
        "Tokens",
        ("Kind", "Usable"),
        (
            (all_of(OAuthAccessToken, client, "access tokens"), access),
            (all_of(OAuthRefreshToken, client, "refresh tokens"), refresh),
        ),
    )


def all_of(model: type[Model], client: OAuthClient, text: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', list_of(model, q=client.client_id), text)


@account_panel
def clients_panel(account: Account) -> Panel:
    """Return the panel with the OAuth clients of an account."""
    rows = account.oauth_clients.defer(*CLIENT_UNREAD).order_by("-pk")[:ROWS_SHOWN]
    return Panel.of(
        "OAuth clients",
        ("Client", "Label", "Kind", "State"),
        ((link(each, each.client_id), each.name, each.client_type, client_state(each)) for each in rows),
        more=list_of(OAuthClient, account__id__exact=account.pk),
    )


class TokenPage(ReadOnlyPage):
    """The base of the pages for access tokens and for refresh tokens."""

    list_select_related = ("user", "application")
    list_filter: ClassVar[tuple[Any, ...]] = (UsersAccountFilter,)
    search_fields = ("=pk", "user__username", "application__client_id")
    search_help_text = "A username or a client id."
    secret = ("token", "token_checksum")
    ordering = ("-id",)
    sortable_by = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        unread = [f"application__{name}" for name in CLIENT_UNREAD]
        return super().get_queryset(request).select_related("user", "application").defer(*unread)

    @admin.display(description="Token")
    def name(self, token: OAuthAccessToken | OAuthRefreshToken) -> str:
        return f"{self.opts.verbose_name} {token.pk}"

    @admin.display(description="Client")
    def client(self, token: OAuthAccessToken | OAuthRefreshToken) -> SafeString:
        return link(token.application, token.application.name or token.application.client_id)


@admin.register(OAuthAccessToken)
class OAuthAccessTokenPage(TokenPage):
    task = Task.CUSTOMERS
    list_display = ("name", "user", "client", "scope", "age", "expires_at")
    fields = ("id", "user", "client", "scope", "created", "expires_at")
    verbs = (
        Verb(
            "revoke", "Revoke", revoke_access, danger=True, permission="delete",
            offered=lambda token: not token.is_expired(),
        ),
    )  # fmt: skip

    @admin.display(description="Expires")
    def expires_at(self, token: OAuthAccessToken) -> SafeString:
        return pill("expired", QUIET) if token.is_expired() else moment(token.expires)


@admin.register(OAuthRefreshToken)
class OAuthRefreshTokenPage(TokenPage):
    task = Task.CUSTOMERS
    list_display = ("name", "user", "client", "age", "state")
    list_filter = (
        UsersAccountFilter,
        ("revoked", admin.EmptyFieldListFilter),
    )
    fields = ("id", "user", "client", "created", "state")
    verbs = (
        Verb(
            "revoke", "Revoke", revoke_refresh, danger=True, permission="delete",
            offered=lambda token: token.revoked is None,
        ),
    )  # fmt: skip

    @admin.display(description="State")
    def state(self, token: OAuthRefreshToken) -> SafeString:
        return pill("usable", GOOD) if token.revoked is None else pill("revoked", QUIET)
