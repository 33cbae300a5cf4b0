"""The three security questions are answered on a page."""

import pytest

from accounts.models import Event, SecurityAnswer
from accounts.services import security_questions as questions
from tests.accounts.pages.browsers import careful, problems, signed_in_ago

pytestmark = pytest.mark.django_db
PAGE = "/home/security-questions"
GOOD = {
    "question_0": "1", "response_0": "Bergen", "question_1": "4", "response_1": "North School",
    "question_2": "12", "response_2": "Kari-n",
}  # fmt: skip


def test_the_answers_are_kept_as_hashes_and_not_shown_again(browser, owner):
    answer = browser.post(PAGE, GOOD, follow=True)
    assert answer.request["PATH_INFO"] == "/home/profile/sign-in"
    assert questions.is_right(owner, 4, "north school")
    assert "Bergen" not in str(list(SecurityAnswer.objects.values()))
    assert [event.message for event in Event.objects.all()] == ["The security questions were answered."]
    page = browser.get(PAGE).content.decode()
    assert "Bergen" not in page
    assert '<option value="12" selected>' in page


def test_they_take_the_place_of_those_before(browser, answered):
    browser.post(PAGE, GOOD)
    assert set(SecurityAnswer.objects.values_list("question_id", flat=True)) == {1, 4, 12}


@pytest.mark.parametrize(
    ("wrong", "field", "reason"),
    [
        ({"question_1": "1"}, "question_1", "Each question can be answered once."),
        ({"question_1": "99"}, "question_1", "Select a valid choice."),
        ({"question_1": "x"}, "question_1", "Select a valid choice."),
        ({"response_1": ""}, "response_1", "This field is required."),
        ({"response_1": "ab"}, "response_1", "at least 3 characters"),
        ({"response_1": "x" * 18}, "response_1", "at most 17 characters"),
        ({"response_1": "*****"}, "response_1", "is not valid"),
    ],
)
def test_errors_are_shown_at_the_field_and_nothing_is_stored(browser, wrong, field, reason):
    assert reason in problems(browser.post(PAGE, GOOD | wrong), field)
    assert not SecurityAnswer.objects.exists()


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_they_lead_to_no_other_site(browser, elsewhere):
    assert browser.post(PAGE, GOOD | {"next": elsewhere})["Location"] == "/home/profile/sign-in"


def test_they_need_a_session_that_is_young_and_a_form_of_ours(browser):
    assert careful(browser).post(PAGE, GOOD).status_code == 403
    signed_in_ago(browser, 2000)
    assert browser.post(PAGE, GOOD)["Location"].startswith("/home/confirm")
    assert not SecurityAnswer.objects.exists()


def test_staff_answer_them_too(staff_browser, staff):
    assert staff_browser.post(PAGE, GOOD)["Location"] == "/home/profile/sign-in"
    assert questions.is_right(staff, 1, "bergen")
    assert not Event.objects.exists(), "they are on no account that could have an event"
