"""Security questions."""

import pytest

from accounts.models import Event, SecurityAnswer
from accounts.services.security_questions import is_right

PATH = "/v4/profile/security-questions"


def answers(*numbers: int, response: str = "Bergen") -> dict:
    return {"security_questions": [{"question_id": number, "response": response} for number in numbers]}


def answered(api) -> set[int]:
    return {each["id"] for each in api.get(PATH).json()["security_questions"] if each["response"]}


def test_all_questions_are_listed_and_none_is_answered_at_first(api):
    listed = api.get(PATH).json()["security_questions"]
    assert len({each["question"] for each in listed}) == len(listed) > 3
    assert answered(api) == set()


def test_three_answers_are_kept_as_hashes(api, owner):
    shown = api.post(PATH, answers(1, 2, 3)).json()["security_questions"]
    assert [each["question_id"] for each in shown] == [1, 2, 3]
    assert all(each["security_question"] for each in shown)
    assert answered(api) == {1, 2, 3}
    assert "bergen" not in str(list(SecurityAnswer.objects.values())).lower()
    assert is_right(owner, 1, "  bergen ")
    assert not is_right(owner, 1, "Oslo")
    assert not is_right(owner, 4, "Bergen")
    assert Event.objects.get().action == "profile_update"


def test_the_next_three_take_the_place_of_all_before(api):
    api.post(PATH, answers(1, 2, 3))
    api.post(PATH, answers(3, 4, 5))
    assert answered(api) == {3, 4, 5}


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["security_questions"]),
        (answers(1, 2), ["security_questions"]),
        (answers(1, 2, 3, 4), ["security_questions"]),
        (answers(1, 2, 2), ["security_questions[2].question_id"]),
        (answers(1, 2, 99), ["security_questions[2].question_id"]),
        (
            {
                "security_questions": [
                    {"question_id": 99, "response": "ab"},
                    {"question_id": "x", "response": "***"},
                ]
            },
            [f"security_questions[{index}].{name}" for index in range(2) for name in ("question_id", "response")],
        ),
        (answers(1, 2, 3, response="ab"), [f"security_questions[{index}].response" for index in range(3)]),
        (answers(1, 2, 3, response="x" * 18), [f"security_questions[{index}].response" for index in range(3)]),
        (answers(1, 2, 3, response="*****"), [f"security_questions[{index}].response" for index in range(3)]),
    ],
    ids=str,
)
def test_anything_else_is_refused_and_changes_nothing(api, body, fields):
    api.post(PATH, answers(6, 7, 8))
    answer = api.post(PATH, body)
    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == fields
    assert answered(api) == {6, 7, 8}
