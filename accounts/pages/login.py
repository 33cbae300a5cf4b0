"""Sign-in: password, second factor if the user has one, and the records of a login."""

import time
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth import views as auth
from django.contrib.auth.forms import AuthenticationForm
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.crypto import salted_hmac
from django.views.generic import FormView, TemplateView

from accounts.models import TrustedDevice, User
from accounts.pages.base import Page
from accounts.pages.confirm import note_confirmed
from accounts.pages.forms import LoginForm, ProofForm
from accounts.pages.known_browsers import known_as, note_known
from accounts.pages.remembered_browsers import REMEMBERED_FOR, SESSION_KEY, find_remembered, note_use, remember
from accounts.pages.security_keys import note_asked, site_of, take_asked
from accounts.pages.sessions import Backend
from accounts.pages.staff_second_factor import is_admin, may_use_admin, note_proofs
from accounts.services import attempts, logins, second_factor, security_keys
from config.errors import TooMany
from config.pages.forms import add_problems
from config.web.client_address import address_of, network_of
from config.web.headers import too_many

HALF_SIGN_IN = "second_factor"
"""Session key: the user that passed the password or the provider, and still needs a code."""
CODE_TIMEOUT = 600
"""Seconds within which the code must follow."""
BACKEND = "accounts.pages.sessions.Backend"


class LoginView(Page, auth.LoginView):
    """``/login``: continues at ``next``, or else at the home page.

    A signed-in user continues at once. Only the admin sends signed-in users here: those who are not staff, and
    staff whose session lacks the second factor. They see the form, because the admin would send them back again.
    """

    template_name = "accounts/login.html"
    lanes = {"post": "passwords"}
    authentication_form = LoginForm

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        target = self.get_success_url()
        comes_back = is_admin(target) and not may_use_admin(request)
        if request.user.is_authenticated and not comes_back:
            return redirect(target)
        return super().get(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Count attempts before the password is checked: after too many, the right password is refused with the
        same answer.

        Attempts in a browser in which the user has signed in before count for that browser alone. All others count
        for the name at the address, and for the address. No attempt counts for the name alone: otherwise anybody
        could lock the user out.
        """
        # The form reads the name the same way: surrounding blanks and other forms of its letters make no other
        # name.
        written = request.POST.get("username", "")
        given = self.authentication_form.base_fields["username"].to_python(written) or ""
        network, name = network_of(request), given.casefold()[:64]
        known = known_as(request, name)
        try:
            if known is None:
                attempts.check("login_address", network)
            attempts.check_all(("login_pause", "login"), known or f"{name_digest(name)}@{network}")
        except TooMany as error:
            form = self.get_form()
            form.cleaned_data = {}
            add_problems(form, error)
            return too_many(self.render_to_response(self.get_context_data(form=form)), error.seconds)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        return complete_sign_in(
            self.request, form.get_user(), self.get_success_url(), form.cleaned_data["remember"]
        )

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(provider=settings.OPENID, **kwargs)


def name_digest(name: str) -> str:
    """Return the name as limits store it: some people type their password there."""
    return salted_hmac("accounts.pages.login", name, algorithm="sha256").hexdigest()


class CodeView(Page, FormView):
    """``/login/code``: the second factor, for ten minutes after the right password.

    It is a code or, if the user has one, the answer of a security key.
    """

    template_name = "accounts/login_code.html"
    lanes = {"post": "passwords"}
    form_class = ProofForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.half: dict[str, Any] = request.session.get(HALF_SIGN_IN) or {}
        user = self._user()
        if user is None:
            return redirect("login")
        self.user = user
        return super().dispatch(request, *args, **kwargs)

    def _user(self) -> User | None:
        if time.time() - self.half.get("at", 0) > CODE_TIMEOUT:
            return None
        user = Backend().get_user(self.half["user"])
        return user if user is not None and user.password.endswith(self.half["hash"]) else None

    def form_valid(self, form: ProofForm) -> HttpResponse:
        challenge = take_asked(self.request)
        try:
            attempts.check("second_factor", f"user:{self.user.pk}")
        except TooMany as error:
            form.add_error("code", str(error))
            return too_many(self.form_invalid(form), error.seconds)
        # Read before the code is checked. If the secret is replaced meanwhile, this mark is not valid any more. So
        # a session without a code of the new secret has shown no second factor.
        mark = second_factor.mark(self.user)
        if answer := form.cleaned_data["answer"]:
            site = site_of(self.request)
            if site is None or challenge is None or not security_keys.accept(self.user, site, challenge, answer):
                form.add_error(None, security_keys.WRONG)
                return self.form_invalid(form)
        elif not second_factor.accept(self.user, form.cleaned_data["code"]):
            form.add_error("code", "The code is not right, or was used already.")
            return self.form_invalid(form)
        response = open_session(self.request, self.user, self.half["next"], None, self.half["remember"])
        note_proofs(self.request, mark, self.half.get("provider", False), by_key=bool(answer))
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        site, options = site_of(self.request), None
        if site is not None and security_keys.keys_of(self.user):
            options = note_asked(self.request, security_keys.ask_to_sign_in(self.user, site))
        return super().get_context_data(options=options, **kwargs)


class LogoutView(Page, auth.LogoutView):
    """``/logout``, by GET as in the contract.

    Another site cannot use it unseen: cookies with ``SameSite=Lax`` are sent with navigation, but not with the
    site's images, frames or forms.
    """

    http_method_names = ["get", "post", "options"]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self.post(request, *args, **kwargs)


class SignedOutView(Page, TemplateView):
    """``/signed-out``: the page after signing out."""

    template_name = "accounts/signed_out.html"


def complete_sign_in(
    request: HttpRequest, user: User, target: str, wanted: bool, *, by_provider: bool = False
) -> HttpResponse:
    """Sign `user` in after a password or a provider, or first ask for the second factor.

    The second factor is needed if the user has one and this browser is not remembered. `wanted` is whether to
    remember the browser.
    """
    # Read before the browser's row, which is deleted when another secret is confirmed.
    mark = second_factor.mark(user) if user.two_factor_auth else None
    device = find_remembered(request, user)
    if user.two_factor_auth and device is None:
        request.session.flush()
        request.session[HALF_SIGN_IN] = {
            "user": user.pk, "at": time.time(), "remember": wanted, "next": target, "hash": user.password[-16:],
            "provider": by_provider,
        }  # fmt: skip
        return redirect("login-code")
    # If the second factor is on, a browser is remembered only after a code in it.
    response = open_session(request, user, target, device, wanted)
    note_proofs(request, mark, by_provider)
    return response


@transaction.atomic
def open_session(
    request: HttpRequest, user: User, target: str, device: TrustedDevice | None, wanted: bool
) -> HttpResponse:
    """Sign the user in, and redirect to `target`.

    The function writes the session, the record of the login, and the browser's row, and sets the browser's cookies.
    `device` is the row of a browser that is remembered already. `wanted` is whether to remember the browser.
    """
    response, address = HttpResponseRedirect(target), address_of(request)
    request.session.pop(HALF_SIGN_IN, None)
    login(request, user, backend=BACKEND)
    note_confirmed(request)
    logins.note(user, address)
    if device is not None:
        note_use(request, device, address)
    elif wanted:
        device = remember(request, response, user, address)
    if device is not None:
        request.session[SESSION_KEY] = device.pk
    request.session.set_expiry(REMEMBERED_FOR if device is not None else 0)
    note_known(request, response, user)
    return response
