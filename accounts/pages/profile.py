"""The user's profile, a page for each topic: sign-in, tokens, keys, apps and browsers, and how to revoke these."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.generic import TemplateView, View

from accounts.actors import Actor
from accounts.models import Authorization, Login, PersonalToken, SecurityKey, SSHKey, TrustedDevice, User
from accounts.pages.base import TOPICS, TOPICS_OF_CUSTOMERS, Page, SignInRequired, actor_of, signed_in
from accounts.pages.objects import Tab
from accounts.pages.remembered_browsers import SESSION_KEY
from accounts.pages.security_keys import site_of
from accounts.pages.tokens import permissions_of
from accounts.services import access, phone, security_keys, security_questions, ssh_keys, tokens
from accounts.services.external import identity_of
from accounts.ssh_keys import parse_public_key
from config.errors import Missing

LOGINS_SHOWN = 10
"""The number of logins shown."""


def apps_of(user: User) -> QuerySet[Authorization]:
    return Authorization.objects.active().filter(user=user).select_related("client", "user")


def devices_of(user: User) -> QuerySet[TrustedDevice]:
    return TrustedDevice.objects.active().filter(user=user).select_related("user")


def tokens_of(user: User) -> QuerySet[PersonalToken]:
    rows = PersonalToken.objects.unexpired().filter(user=user).select_related("user", "client")
    return rows.defer("client__client_secret", "client__thumbnail")


def keys_of(user: User) -> QuerySet[SSHKey]:
    return SSHKey.objects.filter(user=user)


def security_keys_of(user: User) -> QuerySet[SecurityKey]:
    return SecurityKey.objects.filter(user=user)


@dataclass(frozen=True, slots=True)
class Revocable:
    """A kind of rows that users can revoke.

    It has the user's rows, the service that revokes one, the topic's page, and the message for that page.
    """

    rows: Callable[[User], QuerySet[Any]]
    revoke: Callable[[Actor, Any], None]
    topic: str
    message: str


REVOCABLE = {
    "apps": Revocable(apps_of, access.revoke_app, "profile-apps", "The app has no access any more."),
    "devices": Revocable(devices_of, access.revoke_device, "profile-browsers", "The browser is forgotten."),
    "security-keys": Revocable(security_keys_of, security_keys.remove, "profile-sign-in", "The key is removed."),
    "ssh-keys": Revocable(keys_of, ssh_keys.remove, "profile-ssh-keys", "The SSH key is removed."),
    "tokens": Revocable(tokens_of, tokens.revoke_token, "profile-tokens", "The token is revoked."),
}


class TopicPage(Page, LoginRequiredMixin, TemplateView):
    """The page of a topic of the profile. `tab` is the name of its URL, as in `TOPICS`."""

    tab: ClassVar[str]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        user = request.user
        if self.tab in TOPICS_OF_CUSTOMERS and user.is_authenticated and signed_in(request).account_id is None:
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        of_customer = signed_in(self.request).account_id is not None
        names = [name for name in TOPICS if of_customer or name not in TOPICS_OF_CUSTOMERS]
        tabs = [Tab(TOPICS[name], reverse(name), name == self.tab) for name in names]
        return super().get_context_data(tabs=tabs, topic=TOPICS[self.tab], **kwargs)


class ProfileView(TopicPage):
    """``/home/profile``."""

    template_name = "accounts/profile.html"
    tab = "profile"


class SignInView(TopicPage):
    """``/home/profile/sign-in``: all that the user signs in with."""

    template_name = "accounts/profile_sign_in.html"
    tab = "profile-sign-in"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = signed_in(self.request)
        phone_possible = user.account_id is not None and phone.is_offered()
        return super().get_context_data(
            security_keys=security_keys_of(user) if user.two_factor_auth else [],
            keys_possible=user.two_factor_auth and site_of(self.request) is not None,
            phone_possible=phone_possible,
            number_to_verify=phone.number_to_verify(actor_of(user)) if phone_possible else None,
            questions_answered=security_questions.are_answered(actor_of(user)),
            by_password=user.authentication_type == User.PASSWORD,
            provider=settings.OPENID,
            identity=identity_of(user),
            **kwargs,
        )


class TokensView(TopicPage):
    """``/home/profile/tokens``."""

    template_name = "accounts/profile_tokens.html"
    tab = "profile-tokens"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found = tokens_of(signed_in(self.request)).order_by("pk")
        rows = [(token, permissions_of(token.scopes)) for token in found]
        return super().get_context_data(tokens=rows, **kwargs)


class SSHKeysView(TopicPage):
    """``/home/profile/ssh-keys``."""

    template_name = "accounts/profile_ssh_keys.html"
    tab = "profile-ssh-keys"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        keys = keys_of(signed_in(self.request))
        with_fingerprints = [(key, parse_public_key(key.ssh_key).fingerprint) for key in keys]
        return super().get_context_data(keys=with_fingerprints, **kwargs)


class AppsView(TopicPage):
    """``/home/profile/apps``."""

    template_name = "accounts/profile_apps.html"
    tab = "profile-apps"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        rows = [(app, permissions_of(app.scopes)) for app in apps_of(signed_in(self.request))]
        return super().get_context_data(apps=rows, **kwargs)


class BrowsersView(TopicPage):
    """``/home/profile/browsers``: remembered browsers, and the latest logins."""

    template_name = "accounts/profile_browsers.html"
    tab = "profile-browsers"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = signed_in(self.request)
        return super().get_context_data(
            devices=devices_of(user),
            logins=Login.objects.recent().filter(user=user)[:LOGINS_SHOWN],
            this_device=self.request.session.get(SESSION_KEY),
            **kwargs,
        )


class RevokeView(Page, SignInRequired, View):
    """``/home/<kind>/<id>/revoke``: ends an app's access, forgets a browser, deletes a token or a key."""

    operations = frozenset(
        {"profile_apps_destroy", "profile_devices_destroy", "profile_sshkeys_destroy", "profile_tokens_destroy"}
    )
    http_method_names = ["post"]

    def post(self, request: HttpRequest, kind: str, pk: int) -> HttpResponse:
        user = signed_in(request)
        if kind not in REVOCABLE:
            raise Http404
        revocable = REVOCABLE[kind]
        found = get_object_or_404(revocable.rows(user), pk=pk)
        try:
            revocable.revoke(actor_of(user), found)
        except Missing as error:  # another request was first
            raise Http404 from error
        messages.success(request, revocable.message)
        return redirect(revocable.topic)
