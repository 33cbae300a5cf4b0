"""The user's phone number: sending a code to it, verifying it by the code, and removing it."""

from functools import cache, cached_property
from pathlib import Path
from typing import Any
from zoneinfo import TZPATH

import phonenumbers
from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts.pages.base import AccountPage, ProfilePage, signed_in
from accounts.pages.confirm import Confirmed
from accounts.pages.forms import CODE_ATTRIBUTES, CodeInput
from accounts.serializers.security import OneTimeCode, PhoneNumber
from accounts.services import phone
from config.pages.forms import BodyForm, ChoiceField, TextField
from config.pages.views import ServiceFormView, VerbView

COUNTRY_NAMES = "iso3166.tab"
"""The file of the tz database with the names of countries: on each line a code, a tab, and the English name."""

OTHER_NAMES = {"AC": "Ascension Island", "TA": "Tristan da Cunha", "XK": "Kosovo"}
"""The names of places that have a calling code and no entry in that file."""


class PhoneNumberForm(BodyForm):
    body = PhoneNumber
    iso_code = ChoiceField(label="Country", widget=forms.Select(attrs={"autocomplete": "country"}))
    phone_number = TextField(
        label="Phone number", help_text="With or without the code of the country.",
        widget=forms.TelInput(attrs={"autocomplete": "tel"}),
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.offer("iso_code", [("", "Choose a country"), *countries()])


class PhoneNumberView(AccountPage, Confirmed, ProfilePage, ServiceFormView):
    """``/home/phone-number``: the number to which a code is sent."""

    operations = frozenset({"profile_phone_number_send"})
    template_name = "components/form_page.html"
    topic = "profile-sign-in"
    texts = {
        "heading": "Add phone number",
        "introduction": "You get a message with a code. The code verifies that the number is yours.",
        "verb": "Send code",
    }
    form_class = PhoneNumberForm

    def get_initial(self) -> dict[str, Any]:
        """Return the number that has a code already, which can be sent again, or else the country of the
        account.
        """
        number = phone.number_to_verify(self.actor)
        if number is not None:
            country = phonenumbers.region_code_for_number(phonenumbers.parse(number))
            return {"iso_code": country, "phone_number": number}
        account = signed_in(self.request).account
        return {"iso_code": account.country if account else ""}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(unavailable=phone.refusal(self.actor), **kwargs)

    def perform(self, form: PhoneNumberForm) -> str:
        given = form.given
        phone.send_code(self.actor, given.get("iso_code"), given.get("phone_number"), given.problems)
        return ""

    def get_success_url(self) -> str:
        return reverse("verify-phone-number")


class PhoneCodeForm(BodyForm):
    body = OneTimeCode
    otp_code = TextField(
        label="Code", help_text="Six digits. The code is valid for 10 minutes.",
        widget=CodeInput(attrs={**CODE_ATTRIBUTES, "inputmode": "numeric", "autofocus": True}),
    )  # fmt: skip


class VerifyPhoneNumberView(AccountPage, Confirmed, ProfilePage, ServiceFormView):
    """``/home/phone-number/verify``: the code that was sent."""

    operations = frozenset({"profile_phone_number_verify"})
    template_name = "accounts/phone_code.html"
    topic = "profile-sign-in"
    texts = {"heading": "Verify phone number", "verb": "Verify"}
    form_class = PhoneCodeForm

    @cached_property
    def number(self) -> str | None:
        return phone.number_to_verify(self.actor)

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if self.number is None:
            return redirect("phone-number")
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        sent_to = self.number or "your phone"
        return super().get_context_data(introduction=f"Enter the code that was sent to {sent_to}.", **kwargs)

    def perform(self, form: PhoneCodeForm) -> str:
        phone.verify(self.actor, form.given.get("otp_code"), form.given.problems)
        return "Your phone number is verified."


class RemovePhoneNumberView(AccountPage, VerbView):
    """``/home/phone-number/remove``."""

    operations = frozenset({"profile_phone_number_destroy"})

    def perform(self) -> str:
        phone.forget(self.actor)
        return "Your phone number was removed."

    def get_success_url(self) -> str:
        return reverse("profile-sign-in")


@cache
def countries() -> list[tuple[str, str]]:
    """Return the countries whose phone numbers can be verified, as choices: codes, with names and calling codes."""
    names = OTHER_NAMES | _country_names()
    found = [
        (country, f"{names.get(country, country)} (+{calling_code})")
        for calling_code, sharing in phonenumbers.COUNTRY_CODE_TO_REGION_CODE.items()
        for country in sharing
        if country in phonenumbers.SUPPORTED_REGIONS
    ]
    return sorted(found, key=lambda choice: choice[1].casefold())


def _country_names() -> dict[str, str]:
    """Return English names by ISO 3166 code. Empty if the system's tz database has no such file."""
    for folder in TZPATH:
        path = Path(folder) / COUNTRY_NAMES
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            return dict(line.split("\t", 1) for line in lines if line and not line.startswith("#"))
    return {}
