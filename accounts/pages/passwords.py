"""Choosing a password: after an invitation, or because the old one was forgotten."""

from typing import Any

from django.conf import settings
from django.contrib.auth import views as auth
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse, reverse_lazy
from django.views.generic import FormView

from accounts.actors import Actor
from accounts.models import TrustedDevice, User
from accounts.pages.base import Page
from accounts.pages.external import INVITED, begin
from accounts.pages.forms import ForgottenForm
from accounts.services import attempts, external, outbox
from accounts.services.events import notify
from accounts.services.refs import profile_ref
from accounts.services.users import password_path
from config.api.origins import network_of

MOST = 5
"""Users of one email address that are sent a mail at once."""


class SetPasswordView(Page, auth.PasswordResetConfirmView):
    """``/password/…``: chooses a password, by the address in a mail. The address works once."""

    template_name = "set_password.html"
    success_url = reverse_lazy("login")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Who may choose a password may choose the provider in its place."""
        if "external" not in request.POST or settings.OPENID is None:
            return super().post(request, *args, **kwargs)
        assert self.user is not None  # noqa: S101 - or dispatch had not let it through
        token = request.session[auth.INTERNAL_RESET_SESSION_TOKEN]
        return begin(request, {"why": INVITED, "user": self.user.pk, "token": token, "next": reverse("home")})

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(provider=settings.OPENID, **kwargs)

    @transaction.atomic
    def form_valid(self, form) -> HttpResponse:
        """Sessions end by themselves, since they hold a part of the old hash; remembered browsers are forgotten,
        and with them the provider that was used in place of a password."""
        response = super().form_valid(form)
        user = self.user
        assert user is not None  # noqa: S101 - there was a form, so the address was good
        external.forget(user)
        TrustedDevice.objects.filter(user=user).delete()
        if user.account_id is not None:
            told = Actor(user.account_id, user.pk, user.username, user.restricted)
            notify(told, "profile_update", profile_ref(user), message="A new password was set.")
        return response


class ForgottenView(Page, FormView):
    """``/password/forgotten``: sends a mail with such an address. Says the same whether anybody has the name."""

    template_name = "forgotten.html"
    form_class = ForgottenForm

    def form_valid(self, form: ForgottenForm) -> HttpResponse:
        if not attempts.count("password_mail", network_of(self.request)):
            form.add_error(None, attempts.TOO_MANY)
            return self.render_to_response(self.get_context_data(form=form), status=429)
        name = form.cleaned_data["name"].strip()
        with transaction.atomic():
            known = User.objects.filter(
                Q(username__iexact=name) | Q(email__iexact=name), authentication_type=User.PASSWORD
            )
            for user in known.filter(is_active=True).order_by("pk")[:MOST]:
                # counted for each user too, unsaid: else many addresses could fill somebody's mailbox
                if attempts.count("password_mail", f"user:{user.pk}"):
                    outbox.mail(user, "password_reset", {"path": password_path(user)})
        return self.render_to_response(self.get_context_data(sent=True))
