"""Choosing a password: after an invitation, in place of a forgotten one, or as a change."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth import views as auth
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.mixins import LoginRequiredMixin
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.generic import FormView

from accounts.models import User
from accounts.models.accounts import SUSPENDED
from accounts.pages.base import Page, ProfilePage, signed_in
from accounts.pages.confirm import OwnPasswordMixin, note_confirmed
from accounts.pages.external import INVITED, begin
from accounts.pages.forms import ChangePasswordForm, ForgottenForm, NewPasswordForm
from accounts.pages.login import complete_sign_in, name_digest
from accounts.pages.remembered_browsers import SESSION_KEY
from accounts.pages.sessions import Backend
from accounts.services import attempts, outbox, passwords
from accounts.services.users import password_path
from config.errors import Invalid, TooMany
from config.pages.forms import add_problems
from config.web.client_address import network_of
from config.web.headers import too_many

MAX_MAILS = 5
"""The maximum number of users with one email address that are mailed at once."""


class SetPasswordView(Page, auth.PasswordResetConfirmView):
    """``/password/…``: chooses a password, by the address in a mail. The link works once."""

    template_name = "accounts/set_password.html"
    lanes = {"post": "passwords"}
    form_class = NewPasswordForm

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Set the password, or go to the provider instead: the mailed address is valid for both."""
        if "external" not in request.POST or settings.OPENID is None:
            return super().post(request, *args, **kwargs)
        assert self.user is not None  # noqa: S101 - or dispatch had not let it through
        token = request.session[auth.INTERNAL_RESET_SESSION_TOKEN]
        return begin(request, {"why": INVITED, "user": self.user.pk, "token": token, "next": reverse("home")})

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(provider=settings.OPENID, **kwargs)

    def form_valid(self, form: "SetPasswordForm[User]") -> HttpResponse:
        """Set the password, and sign the user in as the login page does.

        If the user has a second factor, it is needed first: a mailed address must not replace it. A suspended user,
        or a user of a suspended account, is not signed in.
        """
        try:
            user = passwords.set_password(form.user, form.cleaned_data["new_password1"])
        except Invalid as error:
            add_problems(form, error)
            return self.form_invalid(form)
        del self.request.session[auth.INTERNAL_RESET_SESSION_TOKEN]
        if Backend().get_user(user.pk) is None:
            refusal = user.account.refusal if user.account is not None else SUSPENDED
            messages.error(self.request, f"Your password was set. {refusal}")
            return redirect("login")
        return complete_sign_in(self.request, user, reverse("home"), False)


class ChangePasswordView(Page, LoginRequiredMixin, OwnPasswordMixin, ProfilePage, FormView):
    """``/home/password``: sets a new password, after the current one. Ends all other sessions."""

    template_name = "accounts/change_password.html"
    topic = "profile-sign-in"
    texts = {
        "heading": "Change password",
        "introduction": "All your other sessions end, and no other browser is remembered any more.",
        "verb": "Change password",
    }
    lanes = {"post": "passwords"}
    form_class = ChangePasswordForm

    def form_valid(self, form: ChangePasswordForm) -> HttpResponse:
        device = self.request.session.get(SESSION_KEY)
        try:
            user = passwords.set_password(form.user, form.cleaned_data["new_password1"], kept_device=device)
        except Invalid as error:
            add_problems(form, error)
            return self.form_invalid(form)
        update_session_auth_hash(self.request, user)
        note_confirmed(self.request)
        messages.success(self.request, "Your password was changed. All your other sessions have ended.")
        return redirect("profile-sign-in")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        by_password = signed_in(self.request).authentication_type == User.PASSWORD
        return super().get_context_data(provider=settings.OPENID, by_password=by_password, **kwargs)


def find_users(name: str) -> list[User]:
    """Return the users who can choose another password, by their name or address.

    If there is none, return a user without an address. The mail to this user is written like any other, and the
    worker drops it. So the response time of the page reveals nothing.
    """
    known = User.objects.filter(Q(username__iexact=name) | Q(email__iexact=name), authentication_type=User.PASSWORD)
    found = known.filter(is_active=True).exclude(email="").order_by("pk")[:MAX_MAILS]
    return list(found) or [User(username=name[:32])]


class ForgottenView(Page, FormView):
    """``/password/forgotten``: mails an address for a new password. Never reveals whether a user has the name."""

    template_name = "accounts/forgotten.html"
    form_class = ForgottenForm

    def form_valid(self, form: ForgottenForm) -> HttpResponse:
        try:
            attempts.check("password_mail", network_of(self.request))
        except TooMany as error:
            add_problems(form, error)
            return too_many(self.render_to_response(self.get_context_data(form=form)), error.seconds)
        name = form.cleaned_data["name"].strip()
        with transaction.atomic():
            for user in find_users(name):
                # Counted for each user too, silently: otherwise requests from many addresses could fill a mailbox.
                if attempts.count("password_mail", f"user:{user.pk or name_digest(name)}"):
                    outbox.mail(user, "password_reset", {"path": password_path(user)})
        return self.render_to_response(self.get_context_data(sent=True))
