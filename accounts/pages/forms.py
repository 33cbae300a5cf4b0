"""The forms of the pages."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, SetPasswordForm, UsernameField
from django.core.exceptions import ValidationError

from accounts.models import User
from accounts.services import attempts
from config.errors import TooMany

MAX_KEY_ANSWER_LENGTH = 16384
"""The maximum number of characters of a security key's answer, in JSON."""
CODE_ATTRIBUTES = {"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}
"""Attributes of an input for a code."""


class Limited(ValidationError):
    """Too many attempts: `refusal` says when to try again."""

    def __init__(self, refusal: TooMany):
        super().__init__(str(refusal))
        self.refusal = refusal


class CodeInput(forms.PasswordInput):
    """An input for codes: the code is visible, and the page never sends it back."""

    input_type = "text"


class LoginForm(AuthenticationForm):
    """Username and password. Its messages never tell whether a name exists."""

    username = UsernameField(widget=forms.TextInput(attrs={"autofocus": True, "spellcheck": "false"}))
    remember = forms.BooleanField(required=False, label="Remember this browser for 30 days")

    def confirm_login_allowed(self, user: User) -> None:
        super().confirm_login_allowed(user)
        if user.account is not None and not user.account.is_active:
            raise ValidationError(user.account.refusal, code="inactive")


class CodeForm(forms.Form):
    """A form for a code of the authenticator app."""

    code = forms.CharField(
        max_length=64, label="Code from the app",
        widget=CodeInput(attrs={**CODE_ATTRIBUTES, "inputmode": "numeric"}),
    )  # fmt: skip


class ProofForm(forms.Form):
    """A form for a code of the authenticator app, the scratch code, or the answer of a security key."""

    code = forms.CharField(
        max_length=64, required=False,
        help_text="The code that your authenticator app shows, or your scratch code if you lost the app.",
        widget=CodeInput(attrs={**CODE_ATTRIBUTES, "required": True, "autofocus": True}),
    )  # fmt: skip
    answer = forms.CharField(max_length=MAX_KEY_ANSWER_LENGTH, required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        if not self.errors and not any(self.cleaned_data.values()):
            self.add_error("code", forms.Field.default_error_messages["required"])
        return self.cleaned_data


class ForgottenForm(forms.Form):
    """The username or email of a user who wants a new password."""

    name = forms.CharField(
        max_length=128, label="Username or email",
        widget=forms.TextInput(
            attrs={"autofocus": True, "autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )  # fmt: skip


def own_password_field(label: str) -> forms.CharField:
    """Return an input for the current password of the signed-in user."""
    attributes = {"autocomplete": "current-password", "autofocus": True}
    return forms.CharField(max_length=4096, strip=False, label=label, widget=forms.PasswordInput(attrs=attributes))


class OwnPasswordForm(forms.Form):
    """A form that asks for the password of the signed-in user again."""

    password = own_password_field("Password")

    def __init__(self, user: User, *args: Any, **kwargs: Any):
        self.user = user
        super().__init__(*args, **kwargs)

    def clean_password(self) -> str:
        return check_own_password(self.user, self.cleaned_data["password"])


class NewPasswordForm(SetPasswordForm):
    """A form that asks for the new password twice."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        first, second = self.fields["new_password1"], self.fields["new_password2"]
        first.help_text, second.help_text = "At least 11 characters. Common passwords are refused.", ""
        second.label = "Repeat the new password"
        for field in (first, second):
            field.widget.attrs["required"] = True  # Django requires it without telling browsers


class ChangePasswordForm(NewPasswordForm):
    """A form that asks for the current password once, and for the new one twice."""

    field_order = ("password", "new_password1", "new_password2")
    password = own_password_field("Current password")

    def clean_password(self) -> str:
        return check_own_password(self.user, self.cleaned_data["password"])


def check_own_password(user: User, given: str) -> str:
    """Return `given` if it is the user's password.

    Raises `ValidationError` if it is not, and `Limited` after too many attempts. An attempt is counted before the
    password is checked. It counts for the user, apart from attempts on the login page, where other people could use
    them up.
    """
    try:
        attempts.check_all(("login_pause", "login"), f"user:{user.pk}")
    except TooMany as error:
        raise Limited(error) from error
    if user.authentication_type != User.PASSWORD or not user.check_password(given):
        raise ValidationError("The password is not right.")
    return given
