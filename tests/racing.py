"""Many at once: real threads on a real database."""

import threading
import time
from collections.abc import Callable
from typing import Any

from django.db import connection

from config.errors import DomainError

RACERS = 12


def race(action: Callable[[int], Any]) -> list[Any]:
    """Let all racers loose at the same moment; returns what each returned or was refused with."""
    gate = threading.Barrier(RACERS)
    results: list[Any] = [None] * RACERS

    def racer(number: int) -> None:
        try:
            gate.wait()
            results[number] = action(number)
        except DomainError as refusal:
            results[number] = refusal
        finally:
            connection.close()

    threads = [threading.Thread(target=racer, args=(number,)) for number in range(RACERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def done(results: list) -> list:
    """What was done. Nobody may have been thrown out by anything but a refusal."""
    assert None not in results
    return [result for result in results if not isinstance(result, DomainError)]


def refused(results: list) -> list:
    """Those that were refused; nobody may have been thrown out by anything else."""
    assert None not in results
    return [result for result in results if isinstance(result, DomainError)]


def held_up() -> bool:
    """Whether some transaction comes to wait for a lock that this one holds, within two minutes.

    Others of the server's, in whichever database, wait for each other all the time.
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
