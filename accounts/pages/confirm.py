"""The password once more, before pages for which an unattended browser must not be enough.

Signing in confirms the password too. Users of a provider have no password: they sign in there once more.
"""

import time
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.mixins import AccessMixin, LoginRequiredMixin
from django.contrib.auth.views import RedirectURLMixin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.generic import FormView

from accounts.models import User
from accounts.pages.base import Page, signed_in
from accounts.pages.forms import ChangePasswordForm, Limited, OwnPasswordForm
from config.headers import too_many

SESSION_KEY = "confirmed"
"""Session key: when the user last gave the password or came from the provider, in seconds since 1970."""
CONFIRMED_FOR = 600
"""Seconds for which a confirmation opens pages."""
FORM_OPEN_FOR = 1200
"""Seconds beyond `CONFIRMED_FOR` in which an open form can still be sent, so that its input is not lost."""


def note_confirmed(request: HttpRequest) -> None:
    """Note in the session that its user has confirmed the password, or signed in, just now."""
    request.session[SESSION_KEY] = time.time()


def confirmed_since(request: HttpRequest) -> float:
    """Seconds since the session's user confirmed the password, or signed in."""
    return float(time.time() - request.session.get(SESSION_KEY, 0))


def is_confirmed(request: HttpRequest) -> bool:
    """Whether the session's user has confirmed the password, or signed in, recently enough for the request."""
    good_for = CONFIRMED_FOR if request.method in ("GET", "HEAD") else CONFIRMED_FOR + FORM_OPEN_FOR
    return confirmed_since(request) < good_for


def keep_session(request: HttpRequest, user: User) -> None:
    """Keep the session valid after a check of the password, which may replace an older hash.

    Django binds sessions to the hash.
    """
    request.session[HASH_SESSION_KEY] = user.get_session_auth_hash()


class Confirmed(AccessMixin):
    """Mixed into a page behind `Page`: sends users without a recent confirmation to ``/home/confirm``, and back.

    This class also sends anonymous users to sign in: `LoginRequiredMixin` as its base would come behind `View`, and
    let everybody through, in a page that has `View` as a base of its own.

    `confirm_first` names the page to come back to, where it is another than this one.
    """

    confirm_first: str | None = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not request.user.is_authenticated:
            return self.handle_no_permission()
        if not is_confirmed(request):
            back = reverse(self.confirm_first) if self.confirm_first else request.get_full_path()
            return HttpResponseRedirect(f"{reverse('confirm')}?{urlencode({'next': back})}")
        return super().dispatch(request, *args, **kwargs)  # type: ignore[misc] # View has it


class OwnPasswordMixin:
    """Mixed into a `FormView` whose form asks for the password of the signed-in user."""

    request: HttpRequest

    def get_form_kwargs(self) -> dict[str, Any]:
        kwargs: dict[str, Any] = super().get_form_kwargs()  # type: ignore[misc] # FormView's
        return {**kwargs, "user": signed_in(self.request)}

    def form_invalid(self, form: OwnPasswordForm | ChangePasswordForm) -> HttpResponse:
        response: HttpResponse = super().form_invalid(form)  # type: ignore[misc] # FormView's
        for problem in form.errors.as_data().get("password", ()):
            if isinstance(problem, Limited):
                return too_many(response, problem.refusal.seconds)
        return response


class ConfirmView(Page, LoginRequiredMixin, RedirectURLMixin, OwnPasswordMixin, FormView):
    """``/home/confirm``: the password once more, then on to ``next``."""

    template_name = "accounts/confirm.html"
    lanes = {"post": "passwords"}
    form_class = OwnPasswordForm
    next_page = "profile"

    def form_valid(self, form: OwnPasswordForm) -> HttpResponse:
        keep_session(self.request, form.user)
        note_confirmed(self.request)
        return HttpResponseRedirect(self.get_success_url())

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            provider=settings.OPENID,
            by_password=signed_in(self.request).authentication_type == User.PASSWORD,
            next=self.get_redirect_url(),
            **kwargs,
        )
