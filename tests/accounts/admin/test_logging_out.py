"""Signing a user out of every browser, and out of every program by revoking the tokens."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Authorization, Event, OAuthAccessToken, PersonalToken, TrustedDevice, User
from tests.config.admin.pages import do, messages_of

pytestmark = pytest.mark.django_db

PROFILE = reverse("profile")


def is_in(browser: Client) -> bool:
    return browser.get(PROFILE).status_code == 200


@pytest.fixture
def browser(owner) -> Client:
    browser = Client()
    browser.force_login(owner)
    assert is_in(browser)
    return browser


def test_all_sessions_end_and_browsers_are_forgotten(admin, everything, owner, browser):
    assert TrustedDevice.objects.filter(user=owner).exists()
    messages = messages_of(do(admin, owner, "log-out", reason="Lost the laptop."))
    assert "logged out of every browser. Lost the laptop." in messages
    assert not is_in(browser)
    assert not TrustedDevice.objects.filter(user=owner).exists()
    assert PersonalToken.objects.filter(user=owner).exists(), "programs go on"
    event = Event.objects.get(action="user_update", entity_id=owner.pk)
    assert (event.username, event.message) == ("staff", "Support ended all sessions: Lost the laptop.")


def test_with_tokens_programs_are_shut_out_too(admin, everything, owner):
    do(admin, owner, "log-out", reason="Leaked.", tokens="on")
    assert not PersonalToken.objects.filter(user=owner).exists()
    assert not OAuthAccessToken.objects.filter(user=owner).exists()
    assert not Authorization.objects.filter(user=owner).exists()


def test_a_reason_is_asked_for(admin, owner, browser):
    assert "This field is required" in do(admin, owner, "log-out").content.decode()
    assert is_in(browser)


def test_a_logged_out_user_can_sign_in_and_be_logged_out_again(admin, owner, browser):
    do(admin, owner, "log-out", reason="Once.")
    browser.force_login(User.objects.get(pk=owner.pk))
    assert is_in(browser)
    do(admin, owner, "log-out", reason="Twice.")
    assert not is_in(browser)


def test_others_stay_in(admin, owner, browser, everything):
    other = User.objects.create_user("colleague", "c@example.com", account=owner.account)
    theirs = Client()
    theirs.force_login(other)
    do(admin, owner, "log-out", reason="Theirs alone.")
    assert is_in(theirs)
    assert not is_in(browser)


def test_sessions_of_an_earlier_release_go_on(owner):
    """If the column has its first value, the session hash is the one that Django computes."""
    django_s = super(User, owner)._get_session_auth_hash()
    assert owner.logged_out == 0
    assert owner.get_session_auth_hash() == django_s
