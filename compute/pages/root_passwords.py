"""Root's password: the fields of forms that set one, and the page that sets it on an instance."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render

from accounts.pages.confirm import Confirmed
from compute.pages.base import FormPage, state_of
from compute.serializers.rebuild import PasswordRequest
from compute.services.common.password_strength import make_password
from compute.services.instances import root_passwords
from config.pages.forms import BodyForm, FlagField, TextField


def root_password_field(
    help_text: str, attributes: Mapping[str, Any] | None = None, *, label: str = "Root password"
) -> TextField:
    """A field for a new password: kept as it was typed, and never shown again."""
    widget = forms.PasswordInput(attrs={"autocomplete": "new-password", **(attributes or {})})
    return TextField(label=label, help_text=help_text, strip=False, widget=widget)


class RootPasswordForm(BodyForm):
    """A form with root's password, typed or generated. `generated` is the generated password."""

    generated = ""

    root_pass = root_password_field("7 to 128 characters.")
    generate = FlagField(label="Generate a password, and show it once")

    def as_body(self) -> dict[str, Any]:
        body = super().as_body()
        if body.pop("generate", False):
            self.generated = body["root_pass"] = make_password()
        return body


class RootPasswordPage(FormPage):
    """A page whose form can generate a password. The page after it shows the password, once."""

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        if form.errors or not form.generated:
            return answer
        context = self.get_context_data(form=form, password=form.generated)
        return render(self.request, "compute/password_shown.html", context | state_of(self.instance))


class PasswordForm(RootPasswordForm):
    body = PasswordRequest


class PasswordView(RootPasswordPage, Confirmed):
    """``/home/instances/<id>/password``: for users who have confirmed their own password."""

    operations = frozenset({"compute_instances_password"})
    kind = "password_reset"
    form_class = PasswordForm
    heading = "Root password of {page.instance}"
    introduction = "Sets the password of root on the disk of the instance. The instance must be off."
    verb = "Set password"

    def perform(self, form: PasswordForm) -> str:
        root_passwords.reset(self.actor, self.instance, form.given.get("root_pass"), form.given.problems)
        return f"The root password of {self.instance} is being set."
