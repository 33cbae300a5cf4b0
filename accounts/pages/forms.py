"""The forms of the pages."""

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from accounts.models import User


class LoginForm(AuthenticationForm):
    """Username and password. What it says never tells whether a name exists."""

    remember = forms.BooleanField(required=False)

    def confirm_login_allowed(self, user: User) -> None:
        super().confirm_login_allowed(user)
        if user.account is not None and not user.account.is_active:
            raise ValidationError("This account is suspended.", code="inactive")


class CodeForm(forms.Form):
    """A code of the authenticator app, or the scratch code."""

    code = forms.CharField(max_length=64)


class ForgottenForm(forms.Form):
    """Who wants a new password."""

    name = forms.CharField(max_length=128, label="Username or email")


class OwnPasswordForm(forms.Form):
    """The password of who is signed in, once more."""

    password = forms.CharField(max_length=4096, strip=False)
