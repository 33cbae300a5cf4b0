"""Passwords are changed by entering the present one, and reset by a link in a mail."""

import pytest
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.test import Client

from accounts.models import Event, Login, SecondFactor, TrustedDevice, User
from accounts.services import external, passwords
from config.encryption import encrypt_json
from tests.accounts.pages.browsers import careful, problems, sign_in
from tests.accounts.signing_in import NEW, PASSWORD, SECRET, code, is_in, mailed, path_in_mail, tie, words
from tests.client import APIClient
from tests.factories import TrustedDeviceFactory, token_of

pytestmark = pytest.mark.django_db
PAGE = "/home/password"
GOOD = {"password": PASSWORD, "new_password1": NEW, "new_password2": NEW}


OF_SUPPORT = "Lent-by.support-at-4"


def late_reset(monkeypatch, user: User) -> None:
    """Set the password in another request, just before this request does."""
    set_password = passwords.set_password

    def after_another(*args, **kwargs):
        User.objects.filter(pk=user.pk).update(password=make_password(OF_SUPPORT))
        return set_password(*args, **kwargs)

    monkeypatch.setattr(passwords, "set_password", after_another)


class TestChangingIt:
    def test_ends_all_other_sessions_and_keeps_this_one(self, browser, owner):
        other = sign_in("owner")
        assert browser.post(PAGE, GOOD)["Location"] == "/home/profile/sign-in"
        assert "Your password was changed." in words(browser.get("/home/profile/sign-in"))
        assert is_in(browser)
        assert not is_in(other)
        owner.refresh_from_db()
        assert owner.check_password(NEW)
        assert [event.message for event in Event.objects.all()] == ["A new password was set."]
        assert mailed() == [(owner.email, "Your password was changed")]
        assert Client().post("/login", {"username": "owner", "password": PASSWORD}).status_code == 200

    def test_forgets_all_browsers_but_this_one(self, with_password):
        TrustedDeviceFactory(user=with_password)
        browser = sign_in("owner", remember="on")
        browser.post(PAGE, GOOD)
        assert TrustedDevice.objects.get().pk == browser.session["device"]
        assert is_in(browser)

    def test_makes_the_session_another(self, browser):
        before = browser.session.session_key
        browser.post(PAGE, GOOD)
        assert browser.session.session_key != before

    @pytest.mark.parametrize(
        ("wrong", "field", "reason"),
        [
            ({"password": "wrong"}, "password", "The password is not right."),
            ({"password": ""}, "password", "This field is required."),
            ({"new_password1": ""}, "new_password1", "This field is required."),
            ({"new_password2": "Other-words.7"}, "new_password2", "match"),
            ({"new_password1": "short", "new_password2": "short"}, "new_password2", "too short"),
            ({"new_password1": "password1234", "new_password2": "password1234"}, "new_password2", "too common"),
        ],
    )
    def test_shows_errors_at_the_field_and_changes_nothing(self, browser, owner, wrong, field, reason):
        answer = browser.post(PAGE, GOOD | wrong)
        assert reason in problems(answer, field)
        owner.refresh_from_db()
        assert owner.check_password(PASSWORD)
        assert NEW not in answer.content.decode()
        assert not Event.objects.exists()

    def test_counts_tries_apart_from_those_of_the_login_page(self, browser, owner, limit):
        limit(login="2/60")
        for _ in range(2):
            browser.post(PAGE, GOOD | {"password": "wrong"})
        answer = browser.post(PAGE, GOOD)
        assert answer.status_code == 429
        assert problems(answer, "password").startswith("Too many attempts. Try again in ")
        assert int(answer["Retry-After"]) > 0
        assert Client().post("/login", {"username": "owner", "password": PASSWORD}).status_code == 302
        owner.refresh_from_db()
        assert owner.check_password(PASSWORD)

    def test_undoes_nothing_that_support_did_meanwhile(self, browser, owner, monkeypatch):
        """Support sets the password between the check of the old password and the write."""
        late_reset(monkeypatch, owner)
        answer = browser.post(PAGE, GOOD)
        assert "changed meanwhile" in words(answer)
        owner.refresh_from_db()
        assert owner.check_password(OF_SUPPORT)
        assert not Event.objects.exists()

    def test_needs_somebody_signed_in_and_a_form_of_ours(self, browser, owner):
        assert Client().post(PAGE, GOOD)["Location"].startswith("/login")
        assert careful(browser).post(PAGE, GOOD).status_code == 403
        owner.refresh_from_db()
        assert owner.check_password(PASSWORD)

    def test_is_for_staff_too(self, staff_browser, staff):
        assert staff_browser.post(PAGE, GOOD)["Location"] == "/home/profile/sign-in"
        staff.refresh_from_db()
        assert staff.check_password(NEW)
        assert not Event.objects.exists()

    def test_is_nothing_for_users_of_a_provider(self, owner, forger):
        tie(owner, forger.config, "kari")
        browser = Client()
        browser.force_login(owner)
        assert "Use a password instead" in words(browser.get(PAGE))
        assert browser.post(PAGE, GOOD).status_code == 200
        owner.refresh_from_db()
        assert not owner.has_usable_password()
        assert "Change password" not in words(browser.get("/home/profile/sign-in"))


class TestChoosingIt:
    def choose(self, path: str) -> tuple[Client, str]:
        """Choose a password on the page that the mail links to. Returns the browser and the address it is
        redirected to."""
        browser = Client()
        page = browser.get(path, follow=True)
        answer = browser.post(page.request["PATH_INFO"], {"new_password1": NEW, "new_password2": NEW})
        return browser, answer["Location"]

    def test_signs_an_invited_user_in(self, owner):
        invited = {"username": "kari", "email": "kari@example.com", "restricted": True}
        assert APIClient(token_of(owner)).post("/v4/account/users", invited).status_code == 200
        browser, to = self.choose(path_in_mail())
        assert to == "/home"
        assert is_in(browser)
        assert Login.objects.get().username == "kari"
        assert browser.get("/home/tokens/new").status_code == 200, "no password is asked for at once again"
        assert mailed() == [], "a first password changes none"

    def test_signs_in_a_user_who_forgot_the_password(self, with_password):
        Client().post("/password/forgotten", {"name": "owner"})
        browser, to = self.choose(path_in_mail())
        assert (to, is_in(browser)) == ("/home", True)
        assert mailed() == [(with_password.email, "Your password was changed")]

    def test_tells_who_signed_in_with_a_provider_before(self, owner, forged):
        with transaction.atomic():
            external.ask_for_password(owner)
        self.choose(path_in_mail())
        assert mailed() == [(owner.email, "Your password was changed")]

    def test_is_no_way_around_the_second_factor(self, with_password):
        SecondFactor.objects.create(user=with_password, encrypted=encrypt_json({"secret": SECRET}), scratch="")
        User.objects.filter(pk=with_password.pk).update(two_factor_auth=True)
        Client().post("/password/forgotten", {"name": "owner"})
        browser, to = self.choose(path_in_mail())
        assert to == "/login/code"
        assert not is_in(browser)
        assert not Login.objects.exists()
        assert browser.post("/login/code", {"code": code()})["Location"] == "/home"
        assert is_in(browser)

    def test_is_done_once_though_two_forms_are_sent_at_once(self, with_password, monkeypatch):
        """The link of the second form was still valid when it was checked."""
        Client().post("/password/forgotten", {"name": "owner"})
        browser = Client()
        page = browser.get(path_in_mail(), follow=True)
        late_reset(monkeypatch, with_password)
        answer = browser.post(page.request["PATH_INFO"], {"new_password1": NEW, "new_password2": NEW})
        assert "changed meanwhile" in words(answer)
        assert not is_in(browser)
        with_password.refresh_from_db()
        assert with_password.check_password(OF_SUPPORT)

    @pytest.mark.parametrize("who", ["user", "account"])
    def test_is_no_way_in_for_the_suspended(self, with_password, who):
        Client().post("/password/forgotten", {"name": "owner"})
        path = path_in_mail()
        suspended = with_password if who == "user" else with_password.account
        suspended.is_active = False
        suspended.save()
        browser, to = self.choose(path)
        assert to == "/login"
        assert "This account is suspended." in words(browser.get(to))
        assert not is_in(browser)
        assert not Login.objects.exists()

    def test_ends_the_session_of_somebody_else_in_this_browser(self, with_password, staff):
        browser = sign_in("staff", staff)
        Client().post("/password/forgotten", {"name": "owner"})
        page = browser.get(path_in_mail(), follow=True)
        browser.post(page.request["PATH_INFO"], {"new_password1": NEW, "new_password2": NEW})
        assert browser.get("/home/profile/sign-in").context["user"] == with_password
