"""Lost connections are replaced before a transaction."""

from collections.abc import Callable

import pytest
from django.db import OperationalError, connection, transaction

from accounts.models import User
from config.db import prepared
from tests.lost_connections import administrator, end_all

pytestmark = pytest.mark.django_db(transaction=True)


def session() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def end() -> None:
    with administrator() as own:
        assert end_all(own) > 0


def in_turn(*steps: Callable[[], object]) -> None:
    for step in steps:
        step()


def test_a_connection_is_kept_while_it_works():
    first = session()
    with transaction.atomic():
        assert session() == first
    assert session() == first
    assert prepared.fetch_ordinarily("SELECT pg_backend_pid()", (), 60) == [(first,)]


def test_one_that_has_ended_is_replaced_before_a_statement_and_before_a_transaction():
    session()
    end()
    User.objects.count()
    end()
    with transaction.atomic():
        User.objects.count()
    end()
    assert prepared.fetch_ordinarily("SELECT 1", (), 60) == [(1,)]


def test_one_that_ends_within_a_transaction_takes_that_along():
    with pytest.raises(OperationalError), transaction.atomic():
        in_turn(session, end, User.objects.count)
    assert User.objects.count() == 0
