"""Security questions: staff ask them to be sure who calls, and two-factor authentication needs them."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.hashers import check_password, make_password
from django.db import transaction

from accounts.actors import Actor
from accounts.models import SecurityAnswer, User
from accounts.services.events import record_event
from accounts.services.refs import profile_ref
from config.errors import Problems

QUESTIONS = {
    1: "In what city were you born?",
    2: "What was the name of your first pet?",
    3: "What was the make of your first car?",
    4: "What was the name of your first school?",
    5: "What is the middle name of your oldest sibling?",
    6: "What was the street you grew up in?",
    7: "What was your dream job as a child?",
    8: "Who was your favourite teacher?",
    9: "Which concert did you go to first?",
    10: "What was the first film you saw in a cinema?",
    11: "In what city did your parents meet?",
    12: "What was your nickname at school?",
}
ANSWERED_AT_A_TIME = 3
HIDDEN = "*****"
"""The text in place of an answer, of which only the hash is stored."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to the question of this id."""

    question_id: int
    response: str


def answered(actor: Actor) -> frozenset[int]:
    """Return the ids of the questions that the actor has answered. One query."""
    mine = SecurityAnswer.objects.filter(user_id=actor.person)
    return frozenset(mine.values_list("question_id", flat=True))


def are_answered(actor: Actor) -> bool:
    """Tell whether the actor has answered as many questions as the second factor needs."""
    return SecurityAnswer.objects.filter(user_id=actor.person).count() >= ANSWERED_AT_A_TIME


def answer(actor: Actor, answers: Sequence[Answer], problems: Problems | None = None) -> None:
    """Store these three answers, in place of all earlier ones.

    Raises `Invalid` with each empty answer and each unknown or repeated question
    (``security_questions[0].question_id``), and unless there are three. `answers` are those that failed no check
    before. `problems` has the errors of the others.
    """
    problems = problems or Problems()
    _check(answers, problems)
    problems.raise_any()
    # Hashed before the transaction, since argon2 is slow.
    hashed = {each.question_id: make_password(_plain(each.response)) for each in answers}
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=actor.person)
        SecurityAnswer.objects.filter(user=user).delete()
        SecurityAnswer.objects.bulk_create(
            SecurityAnswer(user=user, question_id=key, response=response) for key, response in hashed.items()
        )
        if user.account_id is not None:  # staff are on no account, so they have no events
            record_event(
                actor, "profile_update", profile_ref(user), message="The security questions were answered."
            )


def is_right(user: User, question_id: int, response: str) -> bool:
    """Tell whether `response` is the user's answer to the question, apart from case and spaces."""
    kept = SecurityAnswer.objects.filter(user=user, question_id=question_id).first()
    return kept is not None and check_password(_plain(response), kept.response)


def _plain(response: str) -> str:
    return " ".join(response.casefold().split())


def is_answer(response: str) -> bool:
    """Tell whether `response` is more than blanks and the stars that replace an answer."""
    return bool(response.strip("* "))


def _check(answers: Sequence[Answer], problems: Problems) -> None:
    if len(answers) != ANSWERED_AT_A_TIME and "security_questions" not in problems:
        problems.add("security_questions", f"Exactly {ANSWERED_AT_A_TIME} questions are answered at a time.")
    seen: set[int] = set()
    for index, each in enumerate(answers):
        path = f"security_questions[{index}]"
        if each.question_id not in QUESTIONS:
            problems.add(f"{path}.question_id", "question_id is not valid")
        elif each.question_id in seen:
            problems.add(f"{path}.question_id", "Each question can be answered once.")
        seen.add(each.question_id)
        if not is_answer(each.response):
            problems.add(f"{path}.response", "response is not valid")
