"""The cast of managed: an account that has enabled it."""

import pytest

from accounts.models import Account


@pytest.fixture
def account(account) -> Account:
    """The account of the cast, with managed enabled."""
    account.managed = True
    account.save(update_fields=["managed"])
    return account
