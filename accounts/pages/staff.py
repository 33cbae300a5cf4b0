"""Staff need a second factor for the admin, where the setting STAFF_SECOND_FACTOR says so.

A session counts in which a code was given for the secret that is in force, or that a browser opened which is
remembered by a code of it; or that the provider opened, which has asked for whatever it wants of staff. One that is
older than the secret has shown nothing but the password.
"""

import re
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from accounts.models import User
from accounts.services import second_factor
from config.pages.middleware import PagesOnly

MARK, BY_PROVIDER, BY_KEY = "second_factor_passed", "by_provider", "by_key"
"""Session keys: the mark of the secret whose code was given, if any; whether the provider opened the session, and
whether a security key did."""
ONCE_MORE = "Sign in again. The admin needs a second factor, and this session was opened without it."
is_admin = re.compile(r"/admin(?:/|$)").match
is_open = re.compile(r"/admin/log(?:in|out)/").fullmatch
"""Signing in and out, which are for everybody."""


def note_proofs(request: HttpRequest, mark: str | None, by_provider: bool, by_key: bool = False) -> None:
    """Note in the session how it was opened. After `login`, which may have begun another one, or kept old notes."""
    request.session[MARK], request.session[BY_PROVIDER], request.session[BY_KEY] = mark, by_provider, by_key


def note_confirmed_secret(request: HttpRequest, mark: str) -> None:
    """Note in the session that the secret was confirmed in it just now. Its id changes: a copy from the time when a
    password was enough gets nowhere."""
    request.session[MARK] = mark
    request.session.cycle_key()


def has_second_factor(request: HttpRequest, user: User) -> bool:
    """Whether the session has shown a second factor of `user`. One query, none where the provider opened it."""
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


class SecondFactorOfStaff(PagesOnly):
    """Middleware: of the admin, staff without a second factor see nothing but the way to the page that sets it up,
    and those who have one, in a session that did not ask for it, the way to the sign-in page.

    It goes by the path: whatever is added to the admin is behind it.
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
