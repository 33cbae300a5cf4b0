"""Tokens of the API reference: its page creates a short-lived one for the signed-in user, to try calls with."""

from datetime import timedelta
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils.timezone import now

from accounts.models import User
from accounts.pages.base import Page, actor_of, signed_in
from accounts.pages.confirm import CONFIRMED_FOR, confirmed_since
from accounts.scopes import ALL, FAMILIES, READ_ONLY
from accounts.services import tokens

FULL_ACCESS = "full"
SCOPES = {READ_ONLY: " ".join(f"{family}:{READ_ONLY}" for family in FAMILIES), FULL_ACCESS: ALL}
LABELS = {READ_ONLY: "API reference page, read only", FULL_ACCESS: "API reference page, full access"}


class AccessForm(forms.Form):
    """The permissions of the token, and the page to return to after the password was confirmed."""

    access = forms.ChoiceField(choices=[(access, access) for access in SCOPES])
    back = forms.CharField(max_length=2000)


class TokenView(Page):
    """``/docs/token``: answers the page's script with a new token, as JSON.

    A token with write permissions could create one that never expires. So it needs a recent confirmation of the
    password, as on the page that creates such tokens. A read-only token needs only the session.
    """

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> JsonResponse:
        if not request.user.is_authenticated:
            return _refuse(401, "You are signed out.", _help("login", "Sign in", request.POST.get("back", "")))
        user = signed_in(request)
        if user.account_id is None:
            return _refuse(403, "Staff without an account cannot get a token.")
        form = AccessForm(request.POST)
        if not form.is_valid():
            return _refuse(400, "The access is not valid.")
        access, back = form.cleaned_data["access"], form.cleaned_data["back"]
        if access == FULL_ACCESS and confirmed_since(request) >= CONFIRMED_FOR:
            return _refuse(403, "You signed in a while ago.", _help("confirm", "Enter your password first", back))
        return JsonResponse({"token": _token(user, access), "seconds": settings.REFERENCE_TOKEN_LIFETIME})


def _token(user: User, access: str) -> str:
    expiry = now() + timedelta(seconds=settings.REFERENCE_TOKEN_LIFETIME)
    _, readable = tokens.create_token(user, LABELS[access], SCOPES[access], expiry, actor_of(user))
    return readable


def _refuse(status: int, reason: str, help: dict[str, str] | None = None) -> JsonResponse:
    return JsonResponse({"reason": reason, "help": help}, status=status)


def _help(page: str, words: str, back: str) -> dict[str, str]:
    """Return a link to a page that helps, and from there back."""
    return {"address": f"{reverse(page)}?{urlencode({'next': back})}", "words": words}
