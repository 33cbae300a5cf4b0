"""The API reference creates short tokens for the signed-in user."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils.timezone import now

from accounts.models import Event, PersonalToken, User
from accounts.scopes import FAMILIES
from tests.accounts.pages.browsers import careful, kept_in_sessions, sign_in, signed_in_ago
from tests.client import APIClient

pytestmark = pytest.mark.django_db
PATH = "/docs/token"
BACK = "/docs/operations/regions_list"
READING = {"access": "read_only", "back": BACK}
EVERYTHING = {"access": "full", "back": BACK}


def made(answer) -> str:
    assert answer.status_code == 200, answer.content
    assert answer.json()["seconds"] == 900
    return answer.json()["token"]


class TestOneThatMayRead:
    def test_sees_all_and_changes_nothing(self, browser, owner):
        api = APIClient(made(browser.post(PATH, READING)))
        for path in ("/v4/profile", "/v4/account", "/v4/compute/instances", "/v4/domains", "/v4/account/events"):
            assert api.get(path).status_code == 200, path
        refused = api.post("/v4/profile/tokens", {"label": "more"})
        assert (refused.status_code, PersonalToken.objects.count()) == (401, 1)
        assert set(PersonalToken.objects.get().scopes.split()) == {f"{family}:read_only" for family in FAMILIES}

    def test_is_made_however_long_ago_one_signed_in(self, browser):
        signed_in_ago(browser, 86_400)
        made(browser.post(PATH, READING))


class TestOneThatMayDoEverything:
    def test_may(self, browser):
        api = APIClient(made(browser.post(PATH, EVERYTHING)))
        assert api.put("/v4/account", {"company": "Changed"}).json()["company"] == "Changed"

    @pytest.mark.parametrize("seconds", [601, 1700, 86_400])
    def test_needs_the_password_where_one_signed_in_a_while_ago(self, browser, seconds):
        signed_in_ago(browser, seconds)
        answer = browser.post(PATH, EVERYTHING)
        assert answer.status_code == 403
        assert answer.json()["help"]["address"] == "/home/confirm?next=%2Fdocs%2Foperations%2Fregions_list"
        assert not PersonalToken.objects.exists()

    def test_does_no_more_than_its_user(self, restricted):
        api = APIClient(made(sign_in("restricted", restricted).post(PATH, EVERYTHING)))
        assert api.post("/v4/domains", {"domain": "example.com", "type": "master"}).status_code == 403


def test_it_is_one_of_the_users_tokens_with_its_event(browser, owner):
    made(browser.post(PATH, READING))
    token = PersonalToken.objects.get()
    assert (token.user, token.label) == (owner, "API reference page, read only")
    assert timedelta(minutes=14) < token.expiry - now() <= timedelta(minutes=15)
    assert [(event.action, event.username) for event in Event.objects.all()] == [("token_create", "owner")]
    assert token.label in browser.get("/home").content.decode()
    readable = made(browser.post(PATH, EVERYTHING))
    assert [each["label"] for each in APIClient(readable).get("/v4/profile/tokens").json()["data"]] == [
        "API reference page, read only",
        "API reference page, full access",
    ]


def test_it_can_be_ended_earlier(browser):
    readable = made(browser.post(PATH, READING))
    browser.post(f"/home/tokens/{PersonalToken.objects.get().pk}/revoke")
    assert APIClient(readable).get("/v4/profile").status_code == 401


def test_it_is_kept_nowhere_readable(browser):
    answer = browser.post(PATH, READING)
    readable = made(answer)
    assert "no-store" in answer["Cache-Control"]
    assert readable not in kept_in_sessions()
    assert readable not in str(PersonalToken.objects.values().get()) + str(list(Event.objects.values()))
    for page in ("/home", "/docs", BACK):
        assert readable not in browser.get(page).content.decode()


class TestWhoMay:
    def test_a_visitor_without_session_gets_no_token(self):
        answer = Client().post(PATH, READING)
        assert answer.status_code == 401
        assert answer.json()["help"]["address"] == "/login?next=%2Fdocs%2Foperations%2Fregions_list"

    def test_a_suspended_user_gets_no_token(self, browser):
        User.objects.update(is_active=False)
        assert browser.post(PATH, READING).status_code == 401
        assert not PersonalToken.objects.exists()

    def test_staff_without_account_get_no_token(self, staff_browser):
        answer = staff_browser.post(PATH, READING)
        assert (answer.status_code, "Staff" in answer.json()["reason"]) == (403, True)
        assert not PersonalToken.objects.exists()

    def test_no_script_of_another_site(self, browser):
        assert careful(browser).post(PATH, READING).status_code == 403
        assert not PersonalToken.objects.exists()

    def test_and_nobody_by_a_link(self, browser):
        assert browser.get(PATH, READING).status_code == 405
        assert not PersonalToken.objects.exists()


@pytest.mark.parametrize("wrong", [{}, {"access": "*"}, {"access": "admin"}, {"access": "a\x00b"}])
def test_invalid_access_is_refused(browser, wrong):
    answer = browser.post(PATH, {"back": BACK} | wrong)
    assert (answer.status_code, answer.json()["reason"]) == (400, "The access is not valid.")
    assert not PersonalToken.objects.exists()
