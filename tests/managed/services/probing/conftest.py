"""Fixtures of the tests of the prober's queue and its records."""

import pytest

from accounts.actors import Actor
from accounts.models import Account
from managed.models import Service
from tests.managed.watched import managed_account, watch


@pytest.fixture
def account(db) -> Account:
    return managed_account(email="account@example.com")


@pytest.fixture
def actor(account) -> Actor:
    return Actor(account_id=account.pk, username="owner")


@pytest.fixture
def support(account) -> Actor:
    return Actor(account_id=account.pk, username="kim", is_staff=True)


@pytest.fixture
def service(account) -> Service:
    return watch(account, label="shop")
