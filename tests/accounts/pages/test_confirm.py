"""A user who signed in a while ago enters the password again before sensitive actions."""

import pytest
from django.test import Client

from accounts.hashers import PasswordHasher
from tests.accounts.pages.browsers import careful, problems, sign_in, signed_in_ago
from tests.accounts.providers import sign_in_there
from tests.accounts.signing_in import PASSWORD, words

pytestmark = pytest.mark.django_db
PAGE = "/home/confirm"
NEXT = "/home/tokens/new"


def test_the_password_leads_back_to_where_one_was_going(browser):
    signed_in_ago(browser, 700)
    asked = browser.get(NEXT)["Location"]
    assert f'name="next" value="{NEXT}"' in browser.get(asked).content.decode()
    assert browser.post(PAGE, {"password": PASSWORD, "next": NEXT})["Location"] == NEXT
    assert browser.get(NEXT).status_code == 200


def test_the_session_stays_when_the_hash_of_the_password_is_replaced(browser, monkeypatch):
    signed_in_ago(browser, 700)
    monkeypatch.setattr(PasswordHasher, "time_cost", PasswordHasher.time_cost + 1)
    browser.post(PAGE, {"password": PASSWORD, "next": NEXT})
    assert browser.get(NEXT).status_code == 200


def test_a_wrong_one_does_not(browser):
    signed_in_ago(browser, 700)
    assert problems(browser.post(PAGE, {"password": "wrong"}), "password") == "The password is not right."
    assert problems(browser.post(PAGE, {"password": ""}), "password") == "This field is required."
    assert browser.get(NEXT).status_code == 302


def test_tries_are_limited_and_nobody_else_can_use_them_up(browser, limit):
    limit(login="1/60")
    signed_in_ago(browser, 700)
    Client().post("/login", {"username": "owner", "password": "wrong"})
    assert problems(browser.post(PAGE, {"password": "wrong"}), "password") == "The password is not right."
    answer = browser.post(PAGE, {"password": PASSWORD})
    assert answer.status_code == 429
    assert problems(answer, "password").startswith("Too many attempts. Try again in ")
    assert int(answer["Retry-After"]) > 0
    assert browser.get(NEXT).status_code == 302


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)", ""])
def test_it_leads_to_no_other_site(browser, elsewhere):
    assert browser.post(PAGE, {"password": PASSWORD, "next": elsewhere})["Location"] == "/home/profile"


def test_it_is_for_those_who_are_signed_in_and_for_forms_of_ours(browser):
    assert Client().get(PAGE)["Location"].startswith("/login")
    assert careful(browser).post(PAGE, {"password": PASSWORD}).status_code == 403


def test_sessions_of_before_are_asked_too(browser):
    session = browser.session
    del session["confirmed"]
    session.save()
    assert browser.get(NEXT)["Location"].startswith(PAGE)


def test_one_session_does_not_speak_for_another(browser):
    other = sign_in("owner")
    for each in (browser, other):
        signed_in_ago(each, 700)
    browser.post(PAGE, {"password": PASSWORD})
    assert other.get(NEXT).status_code == 302


class TestUsersOfAProvider:
    def test_sign_in_there_once_more(self, tied):
        browser = Client()
        browser.force_login(tied)
        asked = browser.get(NEXT)["Location"]
        assert "Sign in with Example ID again" in words(browser.get(asked))
        there = browser.post("/login/external", {"next": NEXT})["Location"]
        assert browser.get(sign_in_there(there, "kari"))["Location"] == NEXT
        assert browser.get(NEXT).status_code == 200

    def test_have_no_password_that_would_do(self, tied):
        browser = Client()
        browser.force_login(tied)
        assert problems(browser.post(PAGE, {"password": PASSWORD}), "password") == ""
        assert browser.get(NEXT).status_code == 302

    def test_are_told_where_it_is_turned_off(self, tied, settings):
        settings.OPENID = None
        browser = Client()
        browser.force_login(tied)
        assert "turned off here" in words(browser.get(PAGE))
