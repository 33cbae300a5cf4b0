"""Requires a second factor of staff for the admin, if the setting STAFF_SECOND_FACTOR is on.

These sessions have shown a second factor:

- a code was given for the secret that is in force
- a browser opened the session that is remembered after such a code
- the provider opened the session: it has its own rules for staff

A session that is older than the secret has only shown the password.
"""

import re
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from accounts.models import User
from accounts.services import second_factor
from config.pages.middleware import PagesOnly

MARK, BY_PROVIDER, BY_KEY = "second_factor_passed", "by_provider", "by_key"
"""Session keys: the mark of the secret whose code was given, if any, whether the provider opened the session, and
whether a security key did.
"""
ONCE_MORE = "Sign in again. The admin needs a second factor, and this session was opened without it."
is_admin = re.compile(r"/admin(?:/|$)").match
is_open = re.compile(r"/admin/log(?:in|out)/").fullmatch
"""The paths for signing in and out, which are open to everybody."""


def note_proofs(request: HttpRequest, mark: str | None, by_provider: bool, by_key: bool = False) -> None:
    """Note in the session how it was opened.

    Call it after `login`, which may have begun a new session, or kept old notes.
    """
    request.session[MARK], request.session[BY_PROVIDER], request.session[BY_KEY] = mark, by_provider, by_key


def note_confirmed_secret(request: HttpRequest, mark: str) -> None:
    """Note in the session that the secret was confirmed in it just now.

    The session's id changes, so that a copy from the time when a password was enough gives no access.
    """
    request.session[MARK] = mark
    request.session.cycle_key()


def has_second_factor(request: HttpRequest, user: User) -> bool:
    """Tell whether the session has shown a second factor of `user`. One query, none if the provider opened it."""
    if user.authentication_type != User.PASSWORD and request.session.get(BY_PROVIDER, False):
        return True
    given: str = request.session.get(MARK) or ""
    return bool(given) and constant_time_compare(given, second_factor.mark(user) or "")


def lacking_second_factor(request: HttpRequest) -> User | None:
    """Return the session's user if the admin is closed to the user only because a second factor is missing."""
    user = request.user
    if not settings.STAFF_SECOND_FACTOR or not isinstance(user, User) or not user.is_staff:
        return None
    return None if has_second_factor(request, user) else user


def may_use_admin(request: HttpRequest) -> bool:
    """Tell whether the admin shows its pages to the session's user, and does not redirect to the sign-in page."""
    return admin.site.has_permission(request) and lacking_second_factor(request) is None


class SecondFactorOfStaff(PagesOnly):
    """Middleware that closes the admin to staff without a second factor.

    A user without one is redirected to the page that sets it up. A user who has one, in a session that did not ask
    for it, is redirected to the sign-in page. The middleware checks the path, so that it covers all additions to
    the admin.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        path = request.path_info
        if not is_admin(path) or is_open(path) or (user := lacking_second_factor(request)) is None:
            return None
        if not user.two_factor_auth and user.authentication_type == User.PASSWORD:
            return redirect("second-factor")
        messages.info(request, ONCE_MORE)
        target = request.get_full_path() if request.method in ("GET", "HEAD") else reverse("admin:index")
        return redirect(f"{reverse('login')}?{urlencode({'next': target})}")
