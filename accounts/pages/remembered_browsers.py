"""Remembered browsers: identified by a cookie with a random value, of which only the SHA-256 is stored."""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.timezone import now

from accounts.models import TrustedDevice, User

COOKIE = "skerry_device"
REMEMBERED_FOR = timedelta(days=30)
SESSION_KEY = "device"
"""Session key: the id of the browser's row. When the row is deleted, the session ends."""


def find_remembered(request: HttpRequest, user: User) -> TrustedDevice | None:
    """Return the row of this browser if it remembers the user and was neither revoked nor expired, or None."""
    value = request.COOKIES.get(COOKIE)
    if not value:
        return None
    return TrustedDevice.objects.active().filter(user=user, digest=_digest(value)).first()


def remember(request: HttpRequest, response: HttpResponse, user: User, address: str) -> TrustedDevice:
    """Remember the user in this browser. The browser skips the second factor for 30 days."""
    value, moment = secrets.token_urlsafe(32), now()
    device = TrustedDevice.objects.create(
        user=user,
        digest=_digest(value),
        user_agent=_agent(request),
        last_remote_addr=address,
        last_authenticated=moment,
        expiry=moment + REMEMBERED_FOR,
    )
    response.set_cookie(
        COOKIE, value, max_age=REMEMBERED_FOR, httponly=True, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE
    )
    return device


def note_use(request: HttpRequest, device: TrustedDevice, address: str) -> None:
    """Note another sign-in with a remembered browser."""
    # Another request may forget the browser at this moment, so the row need not exist.
    TrustedDevice.objects.filter(pk=device.pk).update(
        user_agent=_agent(request), last_remote_addr=address, last_authenticated=now()
    )


def _agent(request: HttpRequest) -> str:
    return request.META.get("HTTP_USER_AGENT", "").replace("\x00", "")[:500]


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest()
