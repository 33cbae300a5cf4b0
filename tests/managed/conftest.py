"""The account of managed's tests, which has enabled managed."""

import pytest

from accounts.models import Account


@pytest.fixture
def account(account) -> Account:
    """The owner's account, with managed enabled."""
    account.managed = True
    account.save(update_fields=["managed"])
    return account
