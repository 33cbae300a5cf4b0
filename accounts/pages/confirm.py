"""Asks for the password again before pages that an unattended browser must not open.

Signing in confirms the password too. Users of a provider have no password: they sign in again with the provider.
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
from config.web.headers import too_many

SESSION_KEY = "confirmed"
"""Session key: when the user last entered the password or came from the provider, in seconds since 1970."""
CONFIRMED_FOR = 600
"""Seconds for which a confirmation is valid."""
FORM_OPEN_FOR = 1200
"""Seconds beyond `CONFIRMED_FOR` in which an open form can still be sent, so that its input is not lost."""


def note_confirmed(request: HttpRequest) -> None:
    """Note in the session that its user has confirmed the password, or signed in, just now."""
    request.session[SESSION_KEY] = time.time()


def confirmed_since(request: HttpRequest) -> float:
    """Return the seconds since the session's user confirmed the password, or signed in."""
    return float(time.time() - request.session.get(SESSION_KEY, 0))


def is_confirmed(request: HttpRequest) -> bool:
    """Tell whether the session's user has confirmed the password, or signed in, recently enough for the request."""
    good_for = CONFIRMED_FOR if request.method in ("GET", "HEAD") else CONFIRMED_FOR + FORM_OPEN_FOR
    return confirmed_since(request) < good_for


def keep_session(request: HttpRequest, user: User) -> None:
    """Keep the session valid after a check of the password, which may replace an older hash.

    Django binds sessions to the hash.
    """
    request.session[HASH_SESSION_KEY] = user.get_session_auth_hash()


class Confirmed(AccessMixin):
    """A mixin that redirects users without a recent confirmation to ``/home/confirm``, and back.

    List it after `Page`. The class also redirects anonymous users to the sign-in page. It does not use
    `LoginRequiredMixin` as its base. In a page that has `View` as a base of its own, that mixin would come after
    `View` and admit everybody. `confirm_first` names the page to come back to, if it is another page.
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
    """A mixin for a `FormView` whose form asks for the password of the signed-in user."""

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
    """``/home/confirm``: asks for the password again, then redirects to ``next``."""

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
