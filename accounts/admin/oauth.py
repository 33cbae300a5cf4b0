"""OAuth clients and tokens: who may act for whom, and ending that. No token, checksum or secret is shown.

Replaces django-oauth-toolkit's own pages, which offer to edit clients' secrets. Authorization codes and ID
tokens have no page at all.
"""

import oauth2_provider.admin  # noqa: F401  (registers its pages, so that we can take them away)
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from oauth2_provider.models import revoke_access_token

from accounts.models import (
    OAuthAccessToken,
    OAuthClient,
    OAuthGrant,
    OAuthIDToken,
    OAuthRefreshToken,
)
from config.admin.display import BAD, GOOD, QUIET, link, moment, pill
from config.admin.pages import ReadOnlyPage
from config.admin.verbs import Verb
from config.errors import Invalid

admin.site.unregister((OAuthClient, OAuthAccessToken, OAuthRefreshToken, OAuthGrant, OAuthIDToken))

TOKEN_SECRETS = ("token", "token_checksum")


def suspend(request: HttpRequest, client: OAuthClient) -> str:
    """No new tokens for the client, and no refreshing; those it has end."""
    if not OAuthClient.objects.filter(pk=client.pk).exclude(status="suspended").update(status="suspended"):
        raise Invalid("The client is suspended already.")
    OAuthGrant.objects.filter(application=client).delete()
    refresh, _ = OAuthRefreshToken.objects.filter(application=client).delete()
    access, _ = OAuthAccessToken.objects.filter(application=client).delete()
    return f"suspended; {access} access tokens and {refresh} refresh tokens ended."


def activate(request: HttpRequest, client: OAuthClient) -> str:
    if not OAuthClient.objects.filter(pk=client.pk).exclude(status="active").update(status="active"):
        raise Invalid("The client is active already.")
    return "active. Users have to authorize it anew."


def revoke_access(request: HttpRequest, token: OAuthAccessToken) -> str:
    revoke_access_token(token)
    return "revoked, with its refresh token."


def revoke_refresh(request: HttpRequest, token: OAuthRefreshToken) -> str:
    if token.revoked is not None:
        raise Invalid("The token is revoked already.")
    token.revoke()
    return "revoked, with its access token."


@admin.register(OAuthClient)
class OAuthClientPage(ReadOnlyPage):
    list_display = ("client_id", "name", "user", "client_type", "state", "created")
    list_select_related = ("user",)
    list_filter = ("status", "client_type")
    search_fields = ("client_id", "^name", "user__username")
    search_help_text = "A client id or username, or how a name begins."
    secret = ("client_secret",)
    ordering = ("-id",)
    sortable_by = ()
    fields = (
        "client_id", "name", "user", "state", "client_type", "authorization_grant_type", "redirect_uris",
        "skip_authorization", "created", "updated",
    )  # fmt: skip
    verbs = (
        Verb(
            "suspend", "Suspend", suspend, danger=True, offered=lambda client: client.status == "active",
            confirm="It gets no new tokens, and all that it has end.",
        ),
        Verb("activate", "Activate", activate, offered=lambda client: client.status != "active"),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[OAuthClient]:
        return super().get_queryset(request).defer("client_secret")

    @admin.display(description="State")
    def state(self, client: OAuthClient):
        return pill(client.status, GOOD if client.status == "active" else BAD)


class TokenPage(ReadOnlyPage):
    """What access and refresh tokens have in common."""

    list_select_related = ("user", "application")
    search_fields = ("=pk", "user__username", "application__client_id")
    search_help_text = "A username or a client id."
    secret = TOKEN_SECRETS
    ordering = ("-id",)
    sortable_by = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return super().get_queryset(request).defer(*TOKEN_SECRETS)

    @admin.display(description="Token")
    def name(self, token: OAuthAccessToken | OAuthRefreshToken) -> str:
        return f"{self.opts.verbose_name} {token.pk}"

    @admin.display(description="Client")
    def client(self, token: OAuthAccessToken | OAuthRefreshToken):
        return link(token.application, token.application.name or token.application.client_id)


@admin.register(OAuthAccessToken)
class OAuthAccessTokenPage(TokenPage):
    list_display = ("name", "user", "client", "scope", "created", "expires_at")
    fields = ("id", "user", "client", "scope", "created", "expires_at")
    verbs = (Verb("revoke", "Revoke", revoke_access, danger=True, permission="delete"),)

    @admin.display(description="Expires")
    def expires_at(self, token: OAuthAccessToken):
        return pill("expired", QUIET) if token.is_expired() else moment(token.expires)


@admin.register(OAuthRefreshToken)
class OAuthRefreshTokenPage(TokenPage):
    list_display = ("name", "user", "client", "created", "state")
    list_filter = (("revoked", admin.EmptyFieldListFilter),)
    fields = ("id", "user", "client", "created", "state")
    verbs = (Verb("revoke", "Revoke", revoke_refresh, danger=True, permission="delete"),)

    @admin.display(description="State")
    def state(self, token: OAuthRefreshToken):
        return pill("usable", GOOD) if token.revoked is None else pill("revoked", QUIET)
