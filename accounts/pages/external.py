"""Sign-in with the OpenID Connect provider of the setting OPENID, and choosing it in place of a password.

Without that setting none of these pages exists.
"""

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.views import RedirectURLMixin
from django.contrib.sessions.backends.base import UpdateError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.views.generic import FormView, View

from accounts import openid
from accounts.models import User
from accounts.models.accounts import SUSPENDED
from accounts.pages.base import Page, ProfilePage, SignInRequired, signed_in
from accounts.pages.confirm import OwnPasswordMixin, keep_session
from accounts.pages.forms import OwnPasswordForm
from accounts.pages.login import complete_sign_in
from accounts.services import attempts, external
from config.db.elsewhere import ask_elsewhere
from config.environment.openid import OpenID
from config.errors import Invalid, TooMany
from config.web.client_address import network_of
from config.web.headers import too_many

log = logging.getLogger(__name__)

T = TypeVar("T")

SESSION_KEY = "external"
"""Session key: the values with which the browser went to the provider, and the purpose."""
RETURN_TIMEOUT = 600
"""Seconds within which the browser must be back from the provider."""
SIGN_IN, TIE, INVITED = "sign in", "tie", "invited"
"""The purposes: to sign in, and to use the provider instead of a password, as a signed-in user or by a mailed
address.
"""


class Refusal(Exception):
    """The refusal of a sign-in.

    It has a status, a heading and a sentence for people, the reason for the log, and the limit that was reached, if
    any.
    """

    def __init__(self, status: int, title: str, words: str, reason: str, limit: TooMany | None = None):
        super().__init__(reason)
        self.status, self.title, self.words, self.reason, self.limit = status, title, words, reason, limit


class ExternalPage(Page):
    """A page that exists only if a provider is configured. It shows a refusal as a plain sentence."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if settings.OPENID is None:
            raise Http404
        return super().dispatch(request, *args, **kwargs)


class StartView(ExternalPage, RedirectURLMixin, View):
    """``/login/external``: redirects to the provider.

    It needs a POST, so that no other site can sign a user in unseen.
    """

    http_method_names = ["get", "post", "options"]
    lanes = {"post": "outside"}

    def get(self, request: HttpRequest) -> HttpResponse:
        return redirect("login")

    def post(self, request: HttpRequest) -> HttpResponse:
        target = self.get_redirect_url() or reverse("home")
        return begin(request, {"why": SIGN_IN, "remember": "remember" in request.POST, "next": target})


class CallbackView(ExternalPage, View):
    """``/login/external/callback``: the return from the provider."""

    http_method_names = ["get", "options"]
    lanes = {"get": "outside"}

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            return finish(request, provider())
        except Refusal as refusal:
            return refused(request, refusal)


class TieView(ExternalPage, LoginRequiredMixin, OwnPasswordMixin, ProfilePage, FormView):
    """``/home/external``: use the provider instead of a password.

    The form asks for the password again, because an unattended browser must not be enough for permanent access.
    """

    template_name = "accounts/external.html"
    topic = "profile-sign-in"
    lanes = {"post": "outside"}
    form_class = OwnPasswordForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = signed_in(self.request)
        sent = self.request.session.pop("password_instead", False)
        name, identity = provider().name, external.identity_of(user)
        return super().get_context_data(
            provider=provider(),
            identity=identity,
            sent=sent,
            heading="Use a password instead" if identity else f"Use {name} instead",
            introduction=f"You then sign in with {name}. Your password does not work any more, and all your other "
            "sessions end. Enter the password again to continue.",
            verb=f"Continue to {name}",
            **kwargs,
        )

    def form_valid(self, form: OwnPasswordForm) -> HttpResponse:
        keep_session(self.request, form.user)
        return begin(self.request, {"why": TIE, "user": form.user.pk, "next": reverse("profile-sign-in")})


class PasswordInsteadView(ExternalPage, SignInRequired, View):
    """``/home/external/password``: sends a mail with an address at which to choose a password instead."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest) -> HttpResponse:
        user = signed_in(request)
        try:
            attempts.check("password_mail", network_of(request))
        except TooMany as error:
            return refused(request, _limited(error))
        if user.authentication_type != User.PASSWORD:
            external.ask_for_password(user)
            request.session["password_instead"] = True
        return redirect("external-tie")


def provider() -> OpenID:
    """Return the configured provider. Raises `Http404` without one."""
    if settings.OPENID is None:
        raise Http404
    return settings.OPENID


def begin(request: HttpRequest, wish: dict[str, Any]) -> HttpResponse:
    """Send the browser to the provider. The session stores `wish`, which has the purpose, until `finish`."""
    config = provider()
    try:
        attempts.check("login_address", network_of(request))
        question = _ask_provider(config, lambda: ask_elsewhere(openid.ask, config, redirect_uri()))
    except TooMany as error:
        return refused(request, _limited(error))
    except Refusal as refusal:
        return refused(request, refusal)
    request.session[SESSION_KEY] = {
        **wish, "at": time.time(), "state": question.state, "nonce": question.nonce, "verifier": question.verifier,
    }  # fmt: skip
    return redirect(question.url)


def finish(request: HttpRequest, config: OpenID) -> HttpResponse:
    """Complete what `begin` began, with the provider's answer in the request. Raises `Refusal`."""
    wish = _take_wish(request)
    who = _read_identity(request, config, wish)
    if wish["why"] == SIGN_IN:
        user = external.user_of(who.issuer, who.subject)
        if user is None:
            raise Refusal(
                403, "You cannot sign in with this provider yet", _unknown(config, who), f"unknown: {who.subject!r}"
            )
        _check_active(user)
    else:
        user = _tie_user(request, config, wish, who)
    return complete_sign_in(request, user, wish["next"], wish.get("remember", False), by_provider=True)


def _take_wish(request: HttpRequest) -> dict[str, Any]:
    """Take the wish out of the session.

    A wish is valid once, only in the browser that began it, and for `RETURN_TIMEOUT` seconds. It is deleted before
    the request to the provider, so that the address cannot be called again meanwhile.
    """
    wish: dict[str, Any] | None = request.session.pop(SESSION_KEY, None)
    if wish is None:
        raise _stale("the session has none")
    try:
        request.session.save()
    except UpdateError as error:
        raise _stale("the session has ended") from error
    if time.time() - wish["at"] > RETURN_TIMEOUT:
        raise _stale("too old")
    if not constant_time_compare(request.GET.get("state", ""), wish["state"]):
        raise _stale("another state")
    return wish


def _read_identity(request: HttpRequest, config: OpenID, wish: dict[str, Any]) -> openid.Identity:
    """Return the identity that the provider gives for the person who comes back."""

    def answered() -> openid.Identity:
        code, issuer = request.GET.get("code", ""), request.GET.get("iss")
        if not code:
            raise openid.Untrusted("neither a code nor an error")
        return ask_elsewhere(openid.answer, config, redirect_uri(), code, issuer, wish["nonce"], wish["verifier"])

    if error := request.GET.get("error"):
        reason = f"{error!r:.80} {request.GET.get('error_description', '')!r:.200}"
        raise Refusal(403, "Sign-in refused", f"{config.name} did not say who you are.", reason)
    return _ask_provider(config, answered)


def _tie_user(request: HttpRequest, config: OpenID, wish: dict[str, Any], who: openid.Identity) -> User:
    """Tie the user that has chosen the provider, and return the user.

    The session or the mailed address with which the user went there must still be valid.
    """
    user = User.objects.select_related("account").filter(pk=wish["user"]).first()
    if user is None or (wish["why"] == TIE and request.user.pk != user.pk):
        raise _stale("not signed in any more")
    _check_active(user)
    try:
        return external.tie(
            user,
            who.issuer,
            who.subject,
            label=who.label,
            provider=config.name,
            authentication_type=config.authentication_type,
            token=wish.get("token"),
        )
    except Invalid as error:
        raise Refusal(400, "Nothing was changed", str(error), f"{user}: {error}") from error


def _check_active(user: User) -> None:
    if not user.is_active:
        raise Refusal(403, "Sign-in refused", SUSPENDED, f"{user} is suspended")
    account = user.account
    if account is not None and not account.is_active:
        raise Refusal(403, "Sign-in refused", account.refusal, f"the account of {user} is {account.standing}")


def _ask_provider(config: OpenID, work: Callable[[], T]) -> T:
    try:
        return work()
    except openid.Unreachable as error:
        words = "Try again in a few minutes."
        raise Refusal(503, f"{config.name} does not answer", words, str(error)) from error
    except openid.ProviderError as error:
        words = f"The answer of {config.name} is not valid. Begin again. If this fails too, tell support."
        raise Refusal(502, "Sign-in failed", words, str(error)) from error


def _unknown(config: OpenID, who: openid.Identity) -> str:
    return (
        f"No user here has chosen to sign in as {who.label}. Sign in with your password and choose {config.name} "
        "in your profile, or use the link in your invitation."
    )


def _stale(reason: str) -> Refusal:
    words = "This sign-in was started in another browser or too long ago, or it has already ended."
    return Refusal(400, "Begin again", words, f"no sign-in waits for this answer: {reason}")


def _limited(error: TooMany) -> Refusal:
    return Refusal(429, "Too many attempts", str(error), "too many attempts", error)


def refused(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """Return the page for a refusal. Only the log has the reason: it may be an attacker's words."""
    log.warning("external sign-in refused, %s: %s", refusal.status, refusal.reason)
    page = render(request, "accounts/external_refused.html", {"refusal": refusal}, status=refusal.status)
    return page if refusal.limit is None else too_many(page, refusal.limit.seconds)


def redirect_uri() -> str:
    """Return the address to which the provider sends browsers back, exactly as it is registered there."""
    return settings.SITE_URL + reverse("external-callback")
