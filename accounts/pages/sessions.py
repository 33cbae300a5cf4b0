"""Sessions have no user after the browser was revoked, or while the user or the account is suspended.

The services that suspend and close end sessions for good (`end_sessions` of `accounts.services.access`).
"""

from typing import Any

from django.contrib.auth import logout
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from accounts.models import TrustedDevice, User
from accounts.pages.remembered_browsers import SESSION_KEY
from config.pages.middleware import PagesOnly


class Backend(ModelBackend):
    """Django's backend. Sessions of suspended accounts have no user, and users of a provider have no password."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """Refuse users of a provider only after the password check, so that the response time reveals nothing."""
        user = super().authenticate(request, username=username, password=password, **kwargs)
        return user if user is not None and user.authentication_type == User.PASSWORD else None

    def get_user(self, user_id: int) -> User | None:
        user = User.objects.select_related("account").filter(pk=user_id).first()
        if user is None or not self.user_can_authenticate(user):
            return None
        return None if user.account is not None and not user.account.is_active else user


class Devices(PagesOnly):
    """Middleware: logs a browser out at its next page after it was revoked, on a page or by the API."""

    def process_request(self, request: HttpRequest) -> None:
        device = request.session.get(SESSION_KEY)
        if device is not None and not TrustedDevice.objects.active().filter(pk=device).exists():
            logout(request)
