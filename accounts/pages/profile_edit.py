"""Changing the profile: email, time zone, and which emails the user gets."""

from functools import cache
from typing import Any
from zoneinfo import available_timezones

from django import forms

from accounts.pages.base import Page, ProfilePage, actor_of, signed_in
from accounts.pages.confirm import Confirmed
from accounts.serializers.profile import ProfileResource
from accounts.services import profile
from config.pages.forms import BodyForm, ChoiceField, FlagField, TextField
from config.pages.views import ServiceFormView


@cache
def zones() -> list[tuple[str, str]]:
    """Return the choices of time zones, by name."""
    return [(name, name) for name in sorted(available_timezones())]


class ProfileForm(BodyForm):
    """The parts of a profile that users can change on this page."""

    body = ProfileResource
    partial = True
    blank = frozenset({"email"})
    email = TextField(
        label="Email", widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        help_text="A change is reported to the former address.",
    )  # fmt: skip
    timezone = ChoiceField(label="Time zone", help_text="The pages show times in this zone. The API uses UTC.")
    email_notifications = FlagField(label="Send me emails about alerts and support tickets")

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["timezone"].choices = zones()  # type: ignore[attr-defined] # ChoiceField has it


class EditProfileView(Page, Confirmed, ProfilePage, ServiceFormView):
    """``/home/profile/edit``.

    A mail to the email address can set the password, so the page asks for the password first.
    """

    operations = frozenset({"profile_update"})
    template_name = "components/form_page.html"
    form_class = ProfileForm
    texts = {"heading": "Change profile", "verb": "Save"}

    def get_initial(self) -> dict[str, Any]:
        user = signed_in(self.request)
        return {name: getattr(user, name) for name in self.form_class.base_fields}

    def perform(self, form: ProfileForm) -> str:
        profile.update(actor_of(signed_in(self.request)), form.given, form.given.problems)
        return "Your profile was saved."
