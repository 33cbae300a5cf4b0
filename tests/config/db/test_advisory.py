"""Advisory locks that a process holds while it works."""

import pytest
from django.db import connection

from config.db.advisory import advisory_lock
from config.db.postgresql.base import DatabaseWrapper

NUMBER = 0x61646F70


@pytest.mark.django_db
def test_one_at_a_time_has_it_and_nobody_keeps_a_snapshot():
    """A snapshot would block every concurrent index build for as long as `make serve` runs.

    The transaction of a process that tries the lock would block it too. Two concurrent migrations then waited
    for each other forever.
    """
    with advisory_lock(connection, NUMBER) as take, advisory_lock(connection, NUMBER) as other:
        assert take()
        assert not other()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT state, backend_xmin FROM pg_stat_activity"
                " WHERE datname = current_database() AND state = 'idle in transaction'"
            )
            assert cursor.fetchall() == [("idle in transaction", None)], "that of who has it"
    with advisory_lock(connection, NUMBER) as again:
        assert again()


@pytest.mark.django_db
def test_the_lock_is_free_although_the_session_has_not_ended_yet(monkeypatch):
    kept = []
    with monkeypatch.context() as patch:
        patch.setattr(DatabaseWrapper, "close", lambda self: kept.append(self))
        with advisory_lock(connection, NUMBER) as take:
            assert take()
    with advisory_lock(connection, NUMBER) as again:
        assert again()
    for each in kept:
        each.close()
