"""The panels below a user: ways to sign in, logins and browsers, apps and tokens, and grants."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import now

from accounts.admin.panels import ROWS_SHOWN, entity_link
from accounts.admin.token_links import link_rows
from accounts.admin.tokens import token_rows
from accounts.models import (
    Authorization,
    GlobalGrants,
    Login,
    OAuthAccessToken,
    PersonalToken,
    SecondFactor,
    SecurityAnswer,
    TokenLink,
    TrustedDevice,
    User,
)
from accounts.services import external
from accounts.services.grants import named_grants
from accounts.services.security_questions import ANSWERED_AT_A_TIME
from config.admin.pages import Panel
from config.admin.value_formats import link, list_of, moment, page_of
from config.admin.verbs import VerbsMixin
from config.display.statuses import GOOD, QUIET, pill

RECENT = 10
"""The number of logins in the panel. The list has all."""

Buttons = Callable[[Model], SafeString]


def all_of(request: HttpRequest, user: User) -> list[Panel]:
    """Return the panels of a user's page. Rows that can be revoked have a button, which returns to this page."""

    def buttons(obj: Model) -> SafeString:
        page = admin.site.get_model_admin(type(obj))
        if not isinstance(page, VerbsMixin):
            return SafeString("")
        return format_html_join(
            "", "{}", ((each.html(),) for each in page.buttons(request, obj, back=page_of(user)))
        )

    return [
        signing_in_panel(user),
        logins_panel(user),
        devices_panel(user, buttons),
        apps_panel(user, buttons),
        tokens_panel(user),
        links_panel(user),
        oauth_tokens_panel(user),
        keys_panel(user),
        global_grants_panel(user),
        grants_panel(user),
    ]


def signing_in_panel(user: User) -> Panel:
    """Return the panel with the user's ways to prove its identity.

    It shows only whether answers and secrets exist.
    """
    factor = SecondFactor.objects.filter(user=user).only("pending_until").first()
    answers = SecurityAnswer.objects.filter(user=user).count()
    identity = external.identity_of(user)
    begun = factor is not None and factor.pending_until is not None and factor.pending_until > now()
    rows: list[tuple[Any, ...]] = [
        (
            "Password",
            "set" if user.has_usable_password() else "none: the user signs in another way, or cannot sign in yet",
        ),
        ("Second factor", pill("on", GOOD) if user.two_factor_auth else pill("off", QUIET)),
        ("Security questions", "answered" if answers >= ANSWERED_AT_A_TIME else "not answered"),
    ]
    if begun:
        rows.insert(2, ("Second factor", "a new one is being set up"))
    if identity is not None:
        rows.insert(0, (f"Provider ({user.authentication_type})", f"{identity} at {identity.issuer}"))
    return Panel.of("Signing in", ("Way", "State"), rows)


def logins_panel(user: User) -> Panel:
    rows = Login.objects.filter(user=user)[:RECENT]
    return Panel.of(
        "Logins",
        ("When", "From"),
        ((moment(each.created), each.ip) for each in rows),
        more=list_of(Login, q=user.username),
    )


def devices_panel(user: User, buttons: Buttons) -> Panel:
    rows = TrustedDevice.objects.active().filter(user=user).defer("digest").order_by("-pk")[:ROWS_SHOWN]
    return Panel.of(
        "Remembered browsers",
        ("Browser", "Last from", "Last seen", "Until", ""),
        (
            (link(each), each.last_remote_addr, moment(each.last_authenticated), moment(each.expiry), buttons(each))
            for each in rows
        ),
        more=list_of(TrustedDevice, q=user.username),
        empty="None. If the second factor is on, each login needs it.",
    )


def apps_panel(user: User, buttons: Buttons) -> Panel:
    rows = Authorization.objects.active().filter(user=user).select_related("client")
    rows = rows.defer("client__client_secret", "client__thumbnail").order_by("-pk")[:ROWS_SHOWN]
    return Panel.of(
        "Authorized apps",
        ("App", "Scopes", "Since", "Until", ""),
        (
            (link(each.client), each.scopes, moment(each.created), moment(each.expiry), buttons(each))
            for each in rows
        ),
        more=list_of(Authorization, q=user.username),
    )


def tokens_panel(user: User) -> Panel:
    tokens = PersonalToken.objects.filter(user=user).defer("digest").order_by("-pk")[:ROWS_SHOWN]
    return Panel.of(
        "Personal access tokens",
        ("Token", "Label", "Scopes", "Expires"),
        token_rows(tokens),
        more=list_of(PersonalToken, user__id__exact=user.pk),
    )


def links_panel(user: User) -> Panel:
    return Panel.of(
        "Unused links to tokens",
        ("Link", "Scopes", "Made by", "Works until"),
        link_rows(user),
        more=list_of(TokenLink, user__id__exact=user.pk),
    )


def oauth_tokens_panel(user: User) -> Panel:
    tokens = OAuthAccessToken.objects.filter(user=user).select_related("application")
    unread = ("token", "token_checksum", "application__client_secret", "application__thumbnail")
    return Panel.of(
        "OAuth access tokens",
        ("Token", "Client", "Scopes", "Expires"),
        (
            (link(token, f"token {token.pk}"), link(token.application), token.scope, moment(token.expires))
            for token in tokens.defer(*unread).order_by("-pk")[:ROWS_SHOWN]
        ),
        more=list_of(OAuthAccessToken, user__id__exact=user.pk),
    )


def keys_panel(user: User) -> Panel:
    return Panel.of(
        "SSH keys",
        ("Label", "Key", "Added"),
        ((key.label, shortened(key.ssh_key), moment(key.created)) for key in user.ssh_keys.all()[:ROWS_SHOWN]),
    )


def shortened(key: str) -> str:
    """Return the parts of a public key that distinguish it: its type, its last characters, its comment."""
    parts = key.split(None, 2)
    if len(parts) < 2:
        return key[:40]
    return " ".join([parts[0], f"…{parts[1][-16:]}", *parts[2:]])


def global_grants_panel(user: User) -> Panel:
    if not user.restricted:
        return Panel("Grants on the account", (), empty="Unrestricted: everything is allowed.")
    row = GlobalGrants.objects.filter(user=user).first()
    names = [field.name for field in GlobalGrants._meta.concrete_fields if not field.primary_key]
    given = [(name, getattr(row, name)) for name in names] if row else []
    return Panel.of(
        "Grants on the account",
        ("Grant", "Level"),
        ((name, "yes" if level is True else level) for name, level in given if level),
    )


def grants_panel(user: User) -> Panel:
    if not user.restricted:
        return Panel("Grants on entities", (), empty="Unrestricted: everything is allowed.")
    return Panel.of(
        "Grants on entities",
        ("Entity", "Level"),
        ((entity_link(each.kind, each.key, each.label), each.level) for each in named_grants(user)[:ROWS_SHOWN]),
    )
