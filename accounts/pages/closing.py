"""Closing the account."""

from functools import cached_property
from typing import Any

from django import forms
from django.contrib.auth import logout
from django.core.validators import MaxLengthValidator
from django.urls import reverse
from django.views.generic import TemplateView

from accounts.models.accounts import MAX_COMMENT_LENGTH
from accounts.pages.account import OwnAccountPage
from accounts.pages.base import Page
from accounts.pages.confirm import Confirmed
from accounts.services.closing import GRANT, Remaining, close_account, refusal_of, remaining
from config.pages.grants import ACCOUNT_READ, granted
from config.pages.navigation import NOUNS
from config.pages.views import FormPage


class CloseForm(forms.Form):
    """The name of the account, as a confirmation, and an optional comment."""

    name = forms.CharField(
        label="Name of the account", widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )
    comment = forms.CharField(
        label="Why do you close it?",
        required=False,
        validators=[MaxLengthValidator(MAX_COMMENT_LENGTH)],
        help_text=f"Support reads it. Up to {MAX_COMMENT_LENGTH} characters. You can leave it empty.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, account_name: str, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.account_name = account_name
        self.fields["name"].help_text = f"Type {account_name} to confirm."

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name.split() != self.account_name.split():  # a browser shows several blanks as one
            raise forms.ValidationError(f"This is not the name of the account. Type {self.account_name}.")
        return name


class CloseAccountView(OwnAccountPage, FormPage, Confirmed):
    """``/home/account/close``: closes the account, or names the objects that must be deleted first.

    Restricted users learn only that there are such objects.
    """

    grant = GRANT
    template_name = "accounts/account_close.html"
    form_class = CloseForm
    heading = "Close the account {page.account}"
    introduction = (
        "All users are signed out and cannot sign in again. Tokens and apps lose their access. Only support can "
        "open the account again."
    )
    verb = "Close the account"
    dangerous = True

    @cached_property
    def remaining(self) -> list[Remaining]:
        return remaining(self.actor.account_id)

    @property
    def may_read(self) -> bool:
        """Whether the user may open the account's other pages."""
        return granted(self.actor, ACCOUNT_READ)

    def unavailable(self) -> str:
        return refusal_of(self.actor, self.remaining)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "account_name": str(self.account)}

    def perform(self, form: CloseForm) -> str:
        close_account(self.actor, form.cleaned_data["comment"])
        logout(self.request)
        return ""  # the next page says it

    def get_success_url(self) -> str:
        return reverse("account-closed")

    def back_address(self) -> str:
        return reverse("account" if self.may_read else "home")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        shown = [] if self.actor.restricted else self.remaining
        objects = [(str(each), NOUNS[each.kind.noun].address) for each in shown]
        context = super().get_context_data(remaining=objects, **kwargs)
        return context if self.may_read else context | {"trail": []}


class ClosedView(Page, TemplateView):
    """``/account-closed``: the page after the account was closed. It offers the sign-in for other accounts only."""

    template_name = "accounts/account_closed.html"
