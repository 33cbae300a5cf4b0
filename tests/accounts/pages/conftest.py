"""A browser in which the owner has just signed in."""

import pytest
from django.test import Client

from accounts.models import SecurityAnswer
from tests.accounts.pages.browsers import sign_in


@pytest.fixture
def browser(with_password) -> Client:
    return sign_in("owner")


@pytest.fixture
def staff_browser(staff) -> Client:
    return sign_in("staff", staff)


@pytest.fixture
def answered(owner) -> None:
    """The owner has answered three questions."""
    SecurityAnswer.objects.bulk_create(SecurityAnswer(user=owner, question_id=number) for number in (1, 2, 3))
