"""The time that the database works for this thread, while a metered call runs (`config.limits.metering`).

This process measures the time from the sending of a statement to its last row. So the time includes waits of the
database for a processor or a disk. The time of connecting is not included.

Statements that lock rows may wait for another transaction's locks, and PostgreSQL does not report how long they
waited. So a statement counts for at most `FOR_EACH_ROW` seconds for each row that it locked or changed. A wait for
one row then counts for almost nothing. A change of many rows counts in full.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

LOCKS = re.compile(r"\b(?:INSERT|UPDATE|DELETE|SHARE|LOCK|pg_advisory_\w+)\b")
"""Matches the SQL of statements that may wait for locks.

Values are not part of the SQL, and the names of the project's tables and columns are in lower case.
"""
FOR_EACH_ROW = 0.001


class _Watch(threading.local):
    seconds: float | None = None
    """The sum of this thread's seconds. None while no metered call runs."""


_watch = _Watch()


@contextmanager
def statement(longest: Callable[[], float] | None = None) -> Iterator[None]:
    """Add the time of the block, in which a statement runs or its rows are fetched, to the sum of this thread.

    `longest` is called after the block and returns the maximum number of seconds that count. Processor time of this
    thread does not count. Does nothing while no metered call runs.
    """
    before = _watch.seconds
    if before is None:
        yield
        return
    began, own = time.perf_counter(), time.thread_time()
    try:
        yield
    finally:
        took = max(0.0, time.perf_counter() - began - (time.thread_time() - own))
        _watch.seconds = before + (took if longest is None else min(took, longest()))


def _wrapper(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    """Time a statement that goes through Django's cursor."""

    def longest() -> float:
        return max(0, context["cursor"].rowcount) * FOR_EACH_ROW

    with statement(longest if LOCKS.search(sql) else None):
        return execute(sql, params, many, context)


_ours = [_wrapper]


def observed(database: BaseDatabaseWrapper) -> bool:
    """Tell whether more than a metered call observes the connection's statements.

    Other observers are the query log of tests, and any other wrapper (``connection.execute_wrapper``).
    """
    return database.queries_logged or bool(database.execute_wrappers and database.execute_wrappers != _ours)


@contextmanager
def watched() -> Iterator[Callable[[], float]]:
    """Add up the seconds of this thread's statements in the block. Yields a function that returns the sum."""
    _watch.seconds = 0.0
    try:
        with connections[DEFAULT_DB_ALIAS].execute_wrapper(_wrapper):
            yield lambda: _watch.seconds or 0.0
    finally:
        _watch.seconds = None
