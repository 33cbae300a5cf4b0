"""Plain clients, for tests that look at bytes and headers, and limits out of the way."""

from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import User
from accounts.services.tokens import create_token
from config import limits


@pytest.fixture(autouse=True)
def _read_anew():
    """No test goes by the rate limits that another one has set."""
    limits.forget()
    yield
    limits.forget()


@pytest.fixture
def client_of(db) -> Callable[..., Client]:
    """Makes a client with a token of its own: ``client_of(user, "images:read_only")``."""

    def make(user: User, scopes: str = "*") -> Client:
        return Client(headers={"Authorization": f"Bearer {create_token(user, 'test', scopes)[1]}"})

    return make


@pytest.fixture
def anonymous(db) -> Client:
    return Client()
