"""Rows that are locked while they are changed."""

import pytest
from django.db import OperationalError, connection, transaction

from accounts.models import Account
from config.db.rows import differing, lock, write
from config.errors import Missing
from tests.factories import AccountFactory


@pytest.fixture
def other(transactional_db):
    """Another connection to the same database."""
    another = connection.copy()
    yield another
    another.close()


def can_lock(other, row, mode: str) -> bool:
    """Tell whether another transaction could lock the row now."""
    with other.cursor() as cursor:
        try:
            cursor.execute(f"SELECT FROM {row._meta.db_table} WHERE id = %s FOR {mode} NOWAIT", [row.pk])
        except OperationalError:
            return False
        return True


def test_a_locked_row_blocks_changes_but_no_references(other):
    account = AccountFactory()
    with transaction.atomic():
        assert lock(Account.objects.filter(pk=account.pk)) == account
        assert not can_lock(other, account, "NO KEY UPDATE")
        assert can_lock(other, account, "KEY SHARE")
    assert can_lock(other, account, "NO KEY UPDATE")


def test_a_row_locked_for_deletion_gets_no_new_references(other):
    account = AccountFactory()
    with transaction.atomic():
        lock(Account.objects.filter(pk=account.pk), to_delete=True)
        assert not can_lock(other, account, "KEY SHARE")


def test_a_lock_returns_the_current_row(db):
    account = AccountFactory(company="Before")
    Account.objects.update(company="Now")
    assert lock(Account.objects.filter(pk=account.pk)).company == "Now"


def test_a_row_that_is_gone_is_missing(db):
    with pytest.raises(Missing):
        lock(Account.objects.filter(pk=1))


def test_only_differing_columns_are_written(db):
    account = AccountFactory(company="Before", city="Oslo")
    wanted = differing(account, {"company": "Now", "city": "Oslo"})
    assert wanted == {"company": "Now"}
    Account.objects.update(city="Bergen")
    write(account, wanted, "updated")
    account.refresh_from_db()
    assert (account.company, account.city) == ("Now", "Bergen")
