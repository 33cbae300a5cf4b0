"""Advisory locks that last longer than a statement: what a process holds while it works."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

# A statement keeps its snapshot until the next one takes its place; this one needs none. An index that is built
# concurrently waits for every older snapshot, and vacuum spares what any of them may still see.
WITHOUT_SNAPSHOT = "SET LOCAL idle_in_transaction_session_timeout = 0"


@contextmanager
def advisory_lock(connection: BaseDatabaseWrapper, number: int) -> Iterator[Callable[[], bool]]:
    """Give a call that tries to take the lock `number`, and says whether it is taken now, without waiting.

    It is held to the end of the block, or of the process, by a transaction of a connection of its own, of which
    nobody else notices anything: neither who holds the lock nor who tries has a snapshot in between.
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
                # an index that began to be built during this try waits for its transaction to end, and may be
                # built by who holds the lock
                own.rollback()
            return bool(taken)

        try:
            yield take
        finally:
            # Closing alone is not enough: the session ends a moment later, and until then it has the lock. If the
            # connection is lost, so is the lock.
            with suppress(Error):
                own.rollback()
