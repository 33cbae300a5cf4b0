"""Changing the label of a token or an SSH key. No other value of theirs can change."""

from functools import cached_property
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from accounts.models import PersonalToken, SSHKey
from accounts.pages.base import AccountPage, ProfilePage, signed_in
from accounts.pages.profile import keys_of, tokens_of
from accounts.serializers.ssh_keys import SSHKeyLabel
from accounts.serializers.tokens import PersonalTokenResource
from accounts.services import ssh_keys, tokens
from config.pages.forms import BodyForm, TextField
from config.pages.views import ServiceFormView


class LabelForm(BodyForm):
    """A label. Subclasses name the body."""

    partial = True
    blank = frozenset({"label"})
    label = TextField(label="Label", widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}))


class RenamePage(AccountPage, ProfilePage, ServiceFormView):
    """A page with the label of one of the user's own tokens or keys. Other users' are answered 404."""

    template_name = "components/form_page.html"
    texts = {"verb": "Rename"}

    def get_queryset(self) -> QuerySet[Any]:
        raise NotImplementedError

    @cached_property
    def renamed_object(self) -> Any:
        return get_object_or_404(self.get_queryset(), pk=self.kwargs["pk"])

    def get_initial(self) -> dict[str, Any]:
        return {"label": self.renamed_object.label}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        named = self.renamed_object
        return super().get_context_data(heading=f"Rename {named.label or named}", **kwargs)


class TokenLabelForm(LabelForm):
    body = PersonalTokenResource


class RenameTokenView(RenamePage):
    """``/home/tokens/<id>/rename``."""

    topic = "profile-tokens"
    operations = frozenset({"profile_tokens_update"})
    form_class = TokenLabelForm

    def get_queryset(self) -> QuerySet[PersonalToken]:
        return tokens_of(signed_in(self.request))

    def perform(self, form: TokenLabelForm) -> str:
        token = self.renamed_object
        tokens.rename_token(self.actor, token, form.given.get("label"), form.given.problems)
        return f"The token {token.label} was saved."


class SSHKeyLabelForm(LabelForm):
    body = SSHKeyLabel


class RenameSSHKeyView(RenamePage):
    """``/home/ssh-keys/<id>/rename``."""

    topic = "profile-ssh-keys"
    operations = frozenset({"profile_sshkeys_update"})
    form_class = SSHKeyLabelForm

    def get_queryset(self) -> QuerySet[SSHKey]:
        return keys_of(signed_in(self.request))

    def perform(self, form: SSHKeyLabelForm) -> str:
        key = self.renamed_object
        ssh_keys.rename(self.actor, key, form.checked().get("label", key.label))
        return f"The key {key} was saved."
