"""Turning the second factor on and off: questions, a picture for the app, a code of the app, and a scratch code."""

from typing import Any
from urllib.parse import urlencode

import pyotp
import segno
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.generic import FormView, View

from accounts.pages.base import Page, ProfilePage, actor_of, below_profile, signed_in
from accounts.pages.confirm import Confirmed
from accounts.pages.forms import CodeForm
from accounts.pages.remembered_browsers import SESSION_KEY
from accounts.pages.staff_second_factor import lacking_second_factor, note_confirmed_secret
from accounts.services import second_factor, security_questions
from config.errors import Invalid, TooMany
from config.pages.forms import add_problems
from config.web.headers import too_many

ISSUER = "Skerry"
"""The name under which apps store the secret."""
WRONG_CODE = "The code is not right. Wait for the next code, and check that the clock of your phone is right."
BEGIN_AGAIN = "The setup took too long, or was started again elsewhere. Begin again."


class SecondFactorView(Page, Confirmed, ProfilePage, FormView):
    """``/home/second-factor``: whether it is on, the secret that is being set up, and the form for its code."""

    operations = frozenset({"profile_tfa_enable_confirm"})
    template_name = "accounts/second_factor.html"
    topic = "profile-sign-in"
    form_class = CodeForm

    def form_valid(self, form: CodeForm) -> HttpResponse:
        user = signed_in(self.request)
        # Read before it is confirmed: if another secret was begun meanwhile, this session has shown no code of it.
        secret = second_factor.pending_secret(actor_of(user))
        try:
            scratch = second_factor.confirm(actor_of(user), form.cleaned_data["code"])
        except TooMany as error:
            form.add_error("code", str(error))
            return too_many(self.form_invalid(form), error.seconds)
        except Invalid as error:
            return self._refused(form, error)
        if self.request.session.pop(SESSION_KEY, None) is not None:
            # `confirm` deleted the rows of all browsers, which would end this session at the next page. This
            # browser has shown the code, so it stays signed in until it is closed.
            self.request.session.set_expiry(0)
        if secret is not None:
            note_confirmed_secret(self.request, second_factor.mark_of(secret))
        return render(
            self.request, "accounts/scratch_code.html", {"scratch": scratch, **below_profile("profile-sign-in")}
        )

    def _refused(self, form: CodeForm, error: Invalid) -> HttpResponse:
        [problem] = error.problems
        if problem.field is None:
            messages.error(self.request, BEGIN_AGAIN)
            return redirect("second-factor")
        if problem.reason == second_factor.WRONG_CODE:
            form.add_error("code", WRONG_CODE)
            return self.form_invalid(form)
        add_problems(form, error, {"tfa_code": "code"})
        return self.form_invalid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = signed_in(self.request)
        secret = second_factor.pending_secret(actor_of(user))
        picture = qr_code(setup_uri(user.username, secret)) if secret else None
        answered = security_questions.are_answered(actor_of(user))
        return super().get_context_data(
            secret=secret,
            picture=picture,
            questions_answered=answered,
            needs_answers=second_factor.lacks_answers(actor_of(user)),
            for_admin=lacking_second_factor(self.request) is not None,
            **kwargs,
        )


class BeginView(Page, Confirmed, View):
    """``/home/second-factor/begin``: makes a secret, after the security questions if these are not answered."""

    operations = frozenset({"profile_tfa_enable"})
    http_method_names = ["post", "options"]
    confirm_first = "second-factor"

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            second_factor.begin(actor_of(signed_in(request)))
        except Invalid:  # unanswered questions are the only reason
            back = urlencode({"next": reverse("second-factor")})
            return redirect(f"{reverse('security-questions')}?{back}")
        return redirect("second-factor")


class OffView(Page, Confirmed, View):
    """``/home/second-factor/off``."""

    operations = frozenset({"profile_tfa_disable"})
    http_method_names = ["post", "options"]
    confirm_first = "second-factor"

    def post(self, request: HttpRequest) -> HttpResponse:
        user = signed_in(request)
        second_factor.disable(actor_of(user) if user.account_id is not None else None, user)
        messages.success(request, "The second factor is off.")
        return redirect("profile-sign-in")


def setup_uri(username: str, secret: str) -> str:
    """Return the address that an app reads from the picture: ``otpauth://totp/…``."""
    return pyotp.TOTP(secret).provisioning_uri(name=username, issuer_name=ISSUER)


def qr_code(text: str) -> SafeString:
    """Return a picture for cameras, as SVG within the page: dark on light in both colour schemes, as readers need
    it.
    """
    drawn = segno.make(text, micro=False, error="m").svg_inline(
        omitsize=True, border=4, dark="#000", light="#fff", svgclass="qr", lineclass=None
    )
    return mark_safe(drawn)  # noqa: S308 - of segno's numbers alone: the text is in the pattern
