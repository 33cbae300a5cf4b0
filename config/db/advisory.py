"""Advisory locks that last longer than a statement, for the time that a process works."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

# A statement keeps its snapshot until the next statement replaces it. This statement needs none. An index that is
# built concurrently waits for every older snapshot, and vacuum keeps the rows that an older snapshot can see.
WITHOUT_SNAPSHOT = "SET LOCAL idle_in_transaction_session_timeout = 0"


@contextmanager
def advisory_lock(connection: BaseDatabaseWrapper, number: int) -> Iterator[Callable[[], bool]]:
    """Yield a function that tries to take the lock `number`, without waiting, and returns whether it is taken.

    A transaction on a connection of its own holds the lock until the block or the process ends. Other sessions
    notice nothing: neither the holder nor a process that tries has a snapshot in the meantime.
    """
    with closing(connection.copy()) as own:
        own.set_autocommit(False)

        def take() -> bool:
            with own.cursor() as cursor:
                cursor.execute(WITHOUT_SNAPSHOT)
                cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [number])
                (taken,) = cursor.fetchone()
                cursor.execute(WITHOUT_SNAPSHOT)
            if not taken:
                # An index that began to be built during this try waits for its transaction to end. The builder may
                # be the holder of the lock.
                own.rollback()
            return bool(taken)

        try:
            yield take
        finally:
            # Closing is not enough: the session ends a moment later, and keeps the lock until then. A lost
            # connection also loses the lock.
            with suppress(Error):
                own.rollback()
