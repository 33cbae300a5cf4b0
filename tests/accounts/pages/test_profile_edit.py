"""Email, time zone and mails are changed on a page of the profile."""

import pytest

from accounts.models import Event
from tests.accounts.pages.browsers import problems, sign_in, signed_in_ago
from tests.accounts.signing_in import mailed, words

PAGE = "/home/profile/edit"
GOOD = {"email": "owner@new.example.com", "timezone": "Europe/Oslo", "email_notifications": "on"}
pytestmark = pytest.mark.django_db


def test_the_form_shows_the_profile_and_changes_it(browser, owner):
    assert f'value="{owner.email}"' in browser.get(PAGE).content.decode()
    former = owner.email
    assert browser.post(PAGE, GOOD)["Location"] == "/home/profile"
    owner.refresh_from_db()
    assert (owner.email, owner.timezone, owner.email_notifications) == (GOOD["email"], "Europe/Oslo", True)
    assert [event.action for event in Event.objects.all()] == ["profile_update"]
    assert [to for to, _ in mailed()] == [former]


def test_an_unticked_box_turns_mails_off(browser, owner):
    browser.post(PAGE, {"email": owner.email, "timezone": owner.timezone})
    owner.refresh_from_db()
    assert not owner.email_notifications


def test_pages_show_times_in_the_chosen_zone(browser, owner):
    browser.post(PAGE, GOOD | {"timezone": "Asia/Kathmandu"})
    page = words(browser.get("/home/profile"))
    assert "Time zone Asia/Kathmandu" in page


@pytest.mark.parametrize(
    ("wrong", "field", "reason"),
    [
        ({"email": "nowhere"}, "email", "Email is not valid"),
        ({"email": ""}, "email", "Email is required"),
        ({"timezone": "Moon/Base"}, "timezone", '"Time zone" is not valid'),
    ],
)
def test_errors_have_the_reasons_of_the_api_at_their_field(browser, owner, wrong, field, reason):
    answer = browser.post(PAGE, GOOD | wrong)
    assert reason in problems(answer, field)
    former = owner.email
    owner.refresh_from_db()
    assert owner.email == former


def test_the_password_is_asked_for_first(browser):
    signed_in_ago(browser, 601)
    assert browser.get(PAGE)["Location"] == "/home/confirm?next=%2Fhome%2Fprofile%2Fedit"


def test_staff_change_theirs(staff, staff_browser):
    assert staff_browser.post(PAGE, GOOD)["Location"] == "/home/profile"
    staff.refresh_from_db()
    assert staff.timezone == "Europe/Oslo"
    assert "/home/profile/edit" in sign_in("staff").get("/home/profile").content.decode()
