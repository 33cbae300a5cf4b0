"""Root's password: fields for it, the page that sets it on an instance, and the page that shows it once."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.generic import TemplateView

from accounts.pages.confirm import Confirmed
from compute.models import Instance
from compute.pages.base import InstanceFormPage, InstancePage, state_of
from compute.serializers.rebuild import PasswordRequest
from compute.services.common.password_strength import make_password
from compute.services.instances import root_passwords
from config.pages.forms import BodyForm, FlagField, TextField
from config.pages.views import JobMessage


def root_password_field(
    help_text: str, attributes: Mapping[str, Any] | None = None, *, label: str = "Root password"
) -> TextField:
    """A field for a new password: kept as it was typed, and never shown again."""
    widget = forms.PasswordInput(attrs={"autocomplete": "new-password", **(attributes or {})})
    return TextField(label=label, help_text=help_text, strip=False, widget=widget)


SHOWN_ONCE = "root_password"
"""The session's key for a generated password that the next page shows: the instance's id, and the password."""
BOTH_GIVEN = "Type a password or generate one, not both."


class RootPasswordForm(BodyForm):
    """A form with root's password, typed or generated. `generated` is the generated password."""

    generated = ""

    root_pass = root_password_field("7 to 128 characters.")
    generate = FlagField(label="Generate a password, and show it once")

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("generate") and self.cleaned_data.get("root_pass"):
            self.add_error("root_pass", BOTH_GIVEN)
        return self.cleaned_data

    def as_body(self) -> dict[str, Any]:
        body = super().as_body()
        if body.pop("generate", False):
            self.generated = body["root_pass"] = make_password()
        return body


def keep_to_show(request: HttpRequest, instance: Instance, password: str) -> None:
    """Keep a generated password for the page that shows it. Sessions are stored encrypted."""
    request.session[SHOWN_ONCE] = [instance.pk, password]


def page_after(request: HttpRequest, instance_id: int) -> str:
    """Return the address of the page that shows the generated password, or of the instance if none was generated.

    A reload of that page sends no form.
    """
    waits = request.session.get(SHOWN_ONCE, (None, ""))[0] == instance_id
    return reverse("instance-password-shown" if waits else "instance", args=[instance_id])


class ShownPasswordView(InstancePage, TemplateView):
    """``/home/instances/<id>/password/shown``: the password that was generated just now, once."""

    template_name = "compute/password_shown.html"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        pk, password = request.session.pop(SHOWN_ONCE, (None, ""))
        if pk != self.instance.pk:
            return redirect("instance", self.instance.pk)
        return super().get(request, password=password, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        ssh = f"ssh root@{self.instance.ipv4[0]}" if self.instance.ipv4 else ""
        return super().get_context_data(ssh=ssh, **state_of(self.instance), **kwargs)


class RootPasswordPage(InstanceFormPage):
    """A page whose form can generate a password. The page after it shows the password, once."""

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        if form.errors or not form.generated:
            return answer
        keep_to_show(self.request, self.instance, form.generated)
        return redirect(page_after(self.request, self.instance.pk))


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
        return JobMessage(f"The root password of {self.instance} is being set.")
