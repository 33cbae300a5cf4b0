"""Locks that allow one ``make serve`` on a state folder and on a database: a second would take the first one's
jobs.
"""

import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections

from config.db.advisory import advisory_lock
from config.environment.places import serve_command
from config.laptop.embedded.files import private_folder, writing
from config.laptop.serving.address import LOCK_FILE

# Any number, if nothing else in the database takes this advisory lock.
ADVISORY_LOCK = 0x7365727665
# A command that checks whether a server runs (`served_at`) has the lock for a moment.
TRIES, PAUSE_SECONDS = 10, 0.05
# After a process has ended, PostgreSQL takes a moment to drop its lock.
TAKE_SECONDS = 10.0
CHECK_SECONDS = 5.0
"""Seconds between two checks that the connection with the lock still works, and between two attempts to connect."""


class Taken(Exception):
    """Another ``make serve`` runs on the folder or the database. The text says which."""


@contextmanager
def state_locked(state: Path, site: str) -> Iterator[None]:
    """Hold the lock of the folder `state` for the length of the block, and write the address `site` into its file.

    The kernel drops the lock of a killed process. Raises `Taken`, and `EmbeddedError` if nothing can be written.
    """
    path = private_folder(state) / LOCK_FILE
    with writing(path):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _take(file):
            raise Taken(_taken(state, os.read(file, 200).decode(errors="replace")))
        with writing(path):
            _note(file, site)
        yield
        _note(file, "")
    finally:
        os.close(file)


@contextmanager
def database_locked() -> Iterator[None]:
    """Hold a lock in the database of DATABASE_URL, which other state folders may name too. Raises `Taken`."""
    with advisory_lock(connections[DEFAULT_DB_ALIAS], ADVISORY_LOCK) as take:
        if not take():
            raise Taken(_database_taken())
        yield


def keep_database_locked(supervisor: int) -> None:
    """Hold the lock of the database as long as this process runs. If its connection is lost, take the lock again.

    If another ``make serve`` has the lock by then, write this to the standard error, and stop the parent process
    `supervisor` with SIGTERM. Return if the parent process has ended.
    """
    while os.getppid() == supervisor:
        try:
            with advisory_lock(connections[DEFAULT_DB_ALIAS], ADVISORY_LOCK) as take:
                deadline = time.monotonic() + TAKE_SECONDS
                while not take():
                    if time.monotonic() > deadline:
                        _stop(supervisor)
                    time.sleep(PAUSE_SECONDS)
                # `take` fails if the connection, and the lock with it, was lost.
                while os.getppid() == supervisor and take():
                    time.sleep(CHECK_SECONDS)
        except (OperationalError, InterfaceError):
            time.sleep(CHECK_SECONDS)  # the database restarts, or cannot be reached: the web processes report this


def _stop(supervisor: int) -> NoReturn:
    sys.stderr.write(f"{_database_taken()}\n")
    sys.stderr.flush()
    if os.getppid() == supervisor:
        os.kill(supervisor, signal.SIGTERM)
        signal.pause()  # until the supervisor stops this process too
    sys.exit(1)


def _database_taken() -> str:
    return f"Another {serve_command()} uses the database of DATABASE_URL. Stop it, or name another database."


def _take(file: int) -> bool:
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_SECONDS)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return True
    return False


def _note(file: int, site: str) -> None:
    os.ftruncate(file, 0)
    os.pwrite(file, site.encode(), 0)


def _taken(state: Path, site: str) -> str:
    where = f" at {site}" if site else ""
    return (
        f"Another {serve_command()} runs{where} and uses {state}. Stop it, or use another folder and port: "
        f"{serve_command(STATE_DIR='.state-2', PORT=8001)}"
    )
