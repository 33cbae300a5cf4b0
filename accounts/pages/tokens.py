"""Creating personal access tokens. Only the answer to the form shows the new token."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.timezone import now
from django.views.generic import FormView

from accounts.models import PersonalToken
from accounts.pages.base import AccountPage, ProfilePage, below_profile, signed_in
from accounts.pages.confirm import Confirmed
from accounts.scopes import (
    ALL,
    NONE,
    OFFERED,
    READ_ONLY,
    READ_WRITE,
    describe,
    describe_all,
    includes,
    split_scopes,
)
from accounts.services import tokens
from config.errors import Denied, Invalid
from config.pages.forms import add_problems

NEVER, ON_A_DAY = "never", "day"
LIFETIMES = {
    "1": "in a day",
    "7": "in a week",
    "30": "in 30 days",
    "90": "in 90 days",
    "365": "in a year",
    ON_A_DAY: "on a date that I choose",
    NEVER: "never",
}
"""Lifetimes of a token in days, and the other choices, each with its label."""


LEVELS = (READ_ONLY, READ_WRITE)
SINGLE = "single"
PRESETS = {
    "read": tuple(f"{family}:{READ_ONLY}" for family in OFFERED),
    "machines": (
        f"computes:{READ_WRITE}", f"events:{READ_ONLY}", f"images:{READ_ONLY}", f"stackscripts:{READ_ONLY}",
        f"volumes:{READ_WRITE}",
    ),
    "everything": (ALL,),
}  # fmt: skip
"""The scopes of each preset."""
PRESET_LABELS = {
    "read": "Read everything, and change nothing",
    "machines": "Only instances and volumes, and read access to images, scripts and events",
    "everything": "Everything that you can do, your account included",
    SINGLE: "Single permissions",
}


def permissions_of(scopes: str) -> list[str]:
    """Return the permissions of a token or an app in the words of the form: a preset, or each scope."""
    found = split_scopes(scopes)
    for name, preset in PRESETS.items():
        if set(found) == set(preset):
            return [PRESET_LABELS[name]]
    return describe_all(found)


@dataclass(frozen=True, slots=True)
class ScopeBox:
    """A check box for a scope: the scope, its description in plain words, and whether it is ticked."""

    scope: str
    meaning: str
    ticked: bool


class TokenForm(forms.Form):
    """A token's label, scopes and expiry. It reports all problems at once, in the words of the service."""

    label = forms.CharField(
        max_length=tokens.MAX_LABEL_LENGTH, help_text="The program that uses the token, for example.",
        error_messages={"required": tokens.WRONG_LABEL, "max_length": tokens.WRONG_LABEL},
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip
    expires = forms.ChoiceField(label="Expires", choices=list(LIFETIMES.items()), initial="90")
    until = forms.DateField(
        required=False, label="Date", help_text="The token expires at the end of this day, in UTC.",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )  # fmt: skip
    preset = forms.ChoiceField(
        label="Permissions", choices=list(PRESET_LABELS.items()), initial="read",
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
        error_messages={"required": NONE},
    )  # fmt: skip
    scopes = forms.MultipleChoiceField(
        required=False, choices=[(f"{family}:{level}",) * 2 for family in OFFERED for level in LEVELS]
    )

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if given.get("preset") == SINGLE and "scopes" not in self.errors and not given["scopes"]:
            self.add_error("scopes", NONE)
        day = given.get("until")
        if given.get("expires") == ON_A_DAY and "until" not in self.errors:
            if day is None:
                self.add_error("until", "Choose a date.")
            elif day < now().date():
                self.add_error("until", "Choose a date in the future.")
        return given

    def expiry(self) -> datetime | None:
        """Return the time at which the token expires, or None if it never does."""
        chosen = self.cleaned_data["expires"]
        if chosen == NEVER:
            return None
        if chosen == ON_A_DAY:
            day: date = self.cleaned_data["until"]
            return datetime.combine(day, time(23, 59, 59), UTC)
        return now() + timedelta(days=int(chosen))

    def wanted_scopes(self) -> str:
        """Return the scopes of the preset, or else the ticked scopes without those that another includes.

        They are separated by spaces.
        """
        preset, ticked = self.cleaned_data["preset"], self.cleaned_data["scopes"]
        if preset != SINGLE:
            return " ".join(PRESETS[preset])
        return " ".join(
            scope for scope in ticked if not any(other != scope and includes([other], [scope]) for other in ticked)
        )

    def families(self) -> Iterator[tuple[str, list[ScopeBox]]]:
        """Return the check boxes of each family of scopes."""
        for family in OFFERED:
            yield family, [self._box(f"{family}:{level}") for level in LEVELS]

    def _box(self, scope: str) -> ScopeBox:
        return ScopeBox(scope, describe(scope), scope in (self["scopes"].value() or ()))


class NewTokenView(AccountPage, Confirmed, ProfilePage, FormView):
    """``/home/tokens/new``."""

    operations = frozenset({"profile_tokens_create"})
    template_name = "accounts/token_new.html"
    topic = "profile-tokens"
    texts = {
        "heading": "Create token",
        "introduction": "Anyone with the token can use the API as you, with the permissions that you choose here. "
        "The token can never do more than you.",
        "verb": "Create token",
    }
    form_class = TokenForm

    def form_valid(self, form: TokenForm) -> HttpResponse:
        try:
            token, readable = tokens.create_token(
                signed_in(self.request), form.cleaned_data["label"], form.wanted_scopes(), form.expiry(), self.actor
            )
        except (Invalid, Denied) as error:
            add_problems(form, error, {"expiry": "until"})
            return self.form_invalid(form)
        made = {**shown(token, readable, handed_over=False), **below_profile("profile-tokens")}
        return render(self.request, "accounts/token_made.html", made)


def shown(token: PersonalToken, readable: str, *, handed_over: bool) -> dict[str, Any]:
    """Return the context of the page that shows a new token: the token, and a command that uses it.

    `handed_over` is whether a link led there. The context has every variable of the template: Django logs a missing
    one at DEBUG, with the whole context.
    """
    command = f'curl -sS -H "Authorization: Bearer {readable}" {settings.SITE_URL}/v4/profile'
    return {
        "token": token, "permissions": permissions_of(token.scopes), "readable": readable, "command": command,
        "handed_over": handed_over,
    }  # fmt: skip
