"""Concurrent actions, in real threads on a real database."""

import threading
import time
from collections.abc import Callable
from typing import Any

from django.db import connection

from config.errors import DomainError

RACERS = 12


def race(action: Callable[[int], Any], racers: int = RACERS) -> list[Any]:
    """Run the action in all threads at the same moment. Returns each thread's result or refusal."""
    gate = threading.Barrier(racers)
    results: list[Any] = [None] * racers

    def racer(number: int) -> None:
        try:
            gate.wait()
            results[number] = action(number)
        except DomainError as refusal:
            results[number] = refusal
        finally:
            connection.close()

    threads = [threading.Thread(target=racer, args=(number,)) for number in range(racers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def done(results: list) -> list:
    """Return the results of the actions that succeeded. Fails if an action ended in any error but a refusal."""
    assert None not in results
    return [result for result in results if not isinstance(result, DomainError)]


def refused(results: list) -> list:
    """Return the refusals. Fails if an action ended in any other error."""
    assert None not in results
    return [result for result in results if isinstance(result, DomainError)]


def held_up() -> bool:
    """Tell whether a transaction waits for a lock that this one holds, within two minutes.

    Transactions of other tests, in any database of the server, wait for each other all the time.
    """
    deadline = time.monotonic() + 120
    waits = "NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute(f"SELECT EXISTS (SELECT FROM pg_locks WHERE {waits})")
            if cursor.fetchone()[0]:
                return True
            time.sleep(0.01)
    return False
