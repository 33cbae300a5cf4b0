"""Plain clients for tests of bytes and headers, without limits."""

from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import User
from accounts.services.tokens import create_token
from config.limits import rates


@pytest.fixture(autouse=True)
def _read_anew():
    """Reread the rate limits, so that no test has those of another test."""
    rates.forget()
    yield
    rates.forget()


@pytest.fixture
def client_of(db) -> Callable[..., Client]:
    """Return a function that makes a client with a token: ``client_of(user, "images:read_only")``."""

    def make(user: User, scopes: str = "*") -> Client:
        return Client(headers={"Authorization": f"Bearer {create_token(user, 'test', scopes)[1]}"})

    return make


@pytest.fixture
def anonymous(db) -> Client:
    return Client()
