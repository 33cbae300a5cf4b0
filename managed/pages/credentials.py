"""Credentials for staff: the list with the account's SSH key, and forms to add, rename, replace and delete one."""

from typing import Any

from django import forms
from django.db.models.functions import Lower
from django.urls import reverse

from accounts.pages.objects import ObjectConfirmationPage, ObjectFormPage
from config.pages.forms import BodyForm, TextField
from config.pages.lists import Column, Verb
from config.pages.views import VerbView
from managed.filters import CredentialListFilterSet
from managed.models import Credential, KeyPair
from managed.pages.base import ManagedListPage, ManagedObjectPage, ManagedPage, NewManagedPage
from managed.serializers.credentials import CredentialResource, CredentialSecret, NewCredential
from managed.services import credentials, keys
from managed.services.credentials import Secret

LIST = "monitoring-credentials"


def label_field() -> TextField:
    return TextField(label="Label", help_text="2 to 75 characters, unique among your credentials.")


def username_field(help_text: str) -> TextField:
    attrs = {"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}
    return TextField(label="Username", strip=False, widget=forms.TextInput(attrs=attrs), help_text=help_text)


def password_field() -> TextField:
    widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
    return TextField(
        label="Password", strip=False, widget=widget,
        help_text="The password is stored encrypted and not shown again. Only staff can read it.",
    )  # fmt: skip


class CredentialsView(ManagedListPage):
    """``/home/monitoring/credentials``: the credentials without their secrets, and the public SSH key."""

    template_name = "managed/credentials.html"
    model = Credential
    list_page = LIST
    new = "monitoring-credential-new"
    filterset_class = CredentialListFilterSet
    columns = (
        Column("Label", "label", Lower("label")),
        Column("Last read by staff", "last_decrypted"),
        Column("Created", "created"),
        Column(""),
    )

    def verbs_of(self, found: Credential) -> tuple[Verb, ...]:
        verbs = {"edit": "Rename", "password": "Replace the password", "delete": "Delete"}
        return tuple(
            Verb(label, reverse(f"monitoring-credential-{verb}", args=[found.pk])) for verb, label in verbs.items()
        )

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        key = KeyPair.objects.filter(account_id=self.actor.account_id).values_list("public", flat=True).first()
        return {**super().get_context_data(**kwargs), "public_key": key}


class CreateKeyView(ManagedPage, VerbView):
    """``/home/monitoring/credentials/ssh-key``: creates the key pair if there is none."""

    list_page = LIST

    def perform(self) -> str:
        keys.public_key(self.actor)
        return "The SSH key was created."

    def get_success_url(self) -> str:
        return reverse(LIST)


class NewCredentialForm(BodyForm):
    body = NewCredential
    label = label_field()
    username = username_field("The user that staff sign in as. It is not shown again.")
    password = password_field()


class NewCredentialView(NewManagedPage):
    """``/home/monitoring/credentials/new``."""

    operations = frozenset({"managed_credentials_create"})
    list_page = LIST
    form_class = NewCredentialForm
    heading = "Add a credential"
    introduction = "Staff use credentials to repair your services. You see an event each time that they read one."
    verb = "Add credential"

    def perform(self, form: NewCredentialForm) -> str:
        given = form.given
        secret = Secret(given.get("username", ""), given.get("password", ""))
        made = credentials.create(self.actor, given.get("label"), secret, given.problems)
        return f"The credential {made} was added."


class CredentialPage(ManagedObjectPage):
    model = Credential
    list_page = LIST


class RenameForm(BodyForm):
    body = CredentialResource
    label = label_field()


class RenameCredentialView(CredentialPage, ObjectFormPage):
    """``/home/monitoring/credentials/<id>/edit``."""

    operations = frozenset({"managed_credentials_update"})
    form_class = RenameForm
    heading = "Rename {page.object}"
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        return {"label": self.object.label}

    def perform(self, form: RenameForm) -> str:
        renamed = credentials.rename(self.actor, self.object, form.checked()["label"])
        return f"The credential {renamed} was saved."


class ReplaceForm(BodyForm):
    body = CredentialSecret
    username = username_field("Leave it empty to keep the present username.")
    password = password_field()


class ReplaceCredentialView(CredentialPage, ObjectFormPage):
    """``/home/monitoring/credentials/<id>/password``."""

    operations = frozenset({"managed_credentials_update_secret"})
    form_class = ReplaceForm
    heading = "Replace the password of {page.object}"
    introduction = "The old password is deleted."
    verb = "Replace password"

    def perform(self, form: ReplaceForm) -> str:
        given = form.checked()
        credentials.replace(self.actor, self.object, given["password"], given.get("username"))
        return f"The password of {self.object} was replaced."


class DeleteCredentialView(CredentialPage, ObjectConfirmationPage):
    """``/home/monitoring/credentials/<id>/delete``."""

    operations = frozenset({"managed_credentials_destroy", "managed_credentials_revoke"})
    heading = "Delete {page.object}"
    introduction = "Staff can no longer use the credential. It is removed from all services. This cannot be undone."
    verb = "Delete credential"

    def perform(self, form: forms.Form) -> str:
        credentials.revoke(self.actor, self.object)
        return f"The credential {self.object} was deleted."
