"""The user's profile: apps, browsers, keys and tokens with access, and how to revoke these."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.mixins import LoginRequiredMixin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.generic import TemplateView, View

from accounts.actors import Actor
from accounts.models import Authorization, Login, PersonalToken, SecurityKey, SSHKey, TrustedDevice, User
from accounts.pages.base import TOPICS, TOPICS_OF_CUSTOMERS, Page, SignInRequired, actor_of, signed_in
from accounts.pages.objects import Tab
from accounts.pages.remembered_browsers import SESSION_KEY
from accounts.pages.security_keys import site_of
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


REVOKE: dict[str, tuple[Callable[[User], QuerySet[Any]], Callable[[Actor, Any], None]]] = {
    "apps": (apps_of, access.revoke_app),
    "devices": (devices_of, access.revoke_device),
    "security-keys": (security_keys_of, security_keys.remove),
    "ssh-keys": (keys_of, ssh_keys.remove),
    "tokens": (tokens_of, tokens.revoke_token),
}
"""The kinds of rows that users can revoke: the query for the user's rows, and the service that revokes one."""


class ProfileView(Page, LoginRequiredMixin, TemplateView):
    """``/home/profile``."""

    template_name = "accounts/profile.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = signed_in(self.request)
        phone_possible = user.account_id is not None and phone.is_offered()
        return super().get_context_data(
            apps=apps_of(user),
            devices=devices_of(user),
            tokens=tokens_of(user).order_by("pk"),
            keys=[(key, parse_public_key(key.ssh_key).fingerprint) for key in keys_of(user)],
            security_keys=security_keys_of(user) if user.two_factor_auth else [],
            keys_possible=user.two_factor_auth and site_of(self.request) is not None,
            phone_possible=phone_possible,
            number_to_verify=phone.number_to_verify(actor_of(user)) if phone_possible else None,
            questions_answered=security_questions.are_answered(actor_of(user)),
            by_password=user.authentication_type == User.PASSWORD,
            logins=Login.objects.recent().filter(user=user)[:LOGINS_SHOWN],
            provider=settings.OPENID,
            identity=identity_of(user),
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
        if kind not in REVOKE:
            raise Http404
        mine, revoke = REVOKE[kind]
        found = get_object_or_404(mine(user), pk=pk)
        try:
            revoke(actor_of(user), found)
        except Missing as error:  # another request was first
            raise Http404 from error
        return redirect("profile")
