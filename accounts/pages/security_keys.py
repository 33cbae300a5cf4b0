"""Adding security keys, and the requests of pages to keys."""

import time
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.views.generic import FormView

from accounts.models import SecurityKey
from accounts.pages.base import Page, ProfilePage, actor_of, signed_in
from accounts.pages.confirm import Confirmed
from accounts.pages.forms import MAX_KEY_ANSWER_LENGTH
from accounts.services import security_keys
from accounts.services.security_keys import Question, Site
from config.errors import Invalid
from config.pages.forms import add_problems

SESSION_KEY = "security_key"
"""Session key: the challenge that a key was asked to answer, and when."""
ANSWER_TIMEOUT = 600
"""Seconds within which the answer must come."""


def site_of(request: HttpRequest) -> Site | None:
    """Return the site for which keys answer: the site of SITE_URL, whatever host name the request has.

    If SITE_URL is a bare IP address, browsers accept no keys for it. Then the site is ``localhost`` if the request
    came to that name, as on a laptop, or else None.
    """
    host = urlsplit(settings.SITE_URL).hostname or ""
    if not _is_address(host):
        return Site(host, settings.SITE_URL)
    asked = f"{request.scheme}://{request.get_host()}"
    return Site("localhost", asked) if urlsplit(asked).hostname == "localhost" else None


def note_asked(request: HttpRequest, question: Question) -> str:
    """Store the challenge of `question` in the session until `take_asked`. Return the question's options."""
    request.session[SESSION_KEY] = {"challenge": urlsafe_base64_encode(question.challenge), "at": time.time()}
    return question.options


def take_asked(request: HttpRequest) -> bytes | None:
    """Take the challenge out of the session.

    It is valid for one answer. None if there is none, or it is too old.
    """
    asked = request.session.pop(SESSION_KEY, None)
    if asked is None or time.time() - asked["at"] > ANSWER_TIMEOUT:
        return None
    return urlsafe_base64_decode(asked["challenge"])


class SecurityKeyForm(forms.Form):
    """The name of a key, and its answer, which the page's script fills in."""

    name = forms.CharField(
        max_length=SecurityKey._meta.get_field("name").max_length,
        help_text="For example the text on the key, or the place where you keep it.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip
    answer = forms.CharField(
        max_length=MAX_KEY_ANSWER_LENGTH, widget=forms.HiddenInput,
        error_messages={"required": "The key did not answer. Try again."},
    )  # fmt: skip


class NewSecurityKeyView(Page, Confirmed, ProfilePage, FormView):
    """``/home/security-keys/new``, while the second factor is on."""

    template_name = "accounts/security_key_new.html"
    topic = "profile-sign-in"
    texts = {
        "heading": "Add security key",
        "introduction": "You can then sign in with the key instead of a code of your app. Codes still work. A key "
        "answers this site only, so no other site can use it.",
        "verb": "Add key",
    }
    form_class = SecurityKeyForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated:
            site = site_of(request)
            if site is None:
                raise Http404
            self.site = site
            if not signed_in(request).two_factor_auth:
                return redirect("second-factor")
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: SecurityKeyForm) -> HttpResponse:
        given, challenge = form.cleaned_data, take_asked(self.request)
        actor = actor_of(signed_in(self.request))
        try:
            if challenge is None:
                raise Invalid(security_keys.WRONG)
            key = security_keys.add(actor, self.site, challenge, given["answer"], given["name"])
        except Invalid as error:
            add_problems(form, error)
            return self.form_invalid(form)
        messages.success(self.request, f"The security key {key} was added.")
        return redirect("profile-sign-in")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        question = security_keys.ask_to_register(signed_in(self.request), self.site)
        return super().get_context_data(options=note_asked(self.request, question), **kwargs)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
