"""The fields of forms for root's SSH keys: all keys of chosen users, and others."""

from typing import Any

from django import forms

from compute.pages.choices import Users
from config.pages.forms import BodyForm, ListField, WordsField


def users_field() -> ListField:
    """Users whose keys are accepted. `offer_users` sets its choices."""
    return ListField(label="SSH keys of users", help_text="Root accepts all keys of these users.")


def keys_field() -> WordsField:
    """Public keys that are on no profile."""
    return WordsField(
        label="Other SSH keys", separators=r"\n", help_text="Public keys, one on each line.",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "autocomplete": "off"}),
    )  # fmt: skip


def offer_users(form: BodyForm, users: Users, chosen: Any = None) -> None:
    """Set the choices of `users_field`, and those that are chosen at first. Without choices there is no field."""
    if users.choices:
        set_users(form, users, chosen)
    else:
        del form.fields["authorized_users"]


def set_users(form: BodyForm, users: Users, chosen: Any = None) -> None:
    """Set the choices of `users_field`, and those that are chosen at first."""
    form.offer("authorized_users", users.choices, chosen)
    field = form.fields["authorized_users"]
    field.help_text = f"{field.help_text} {users.more}".strip()
