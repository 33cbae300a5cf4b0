"""Queries to other servers, without a connection to the database in the meantime."""

from collections.abc import Callable
from typing import TypeVar

from django.db import connection

R = TypeVar("R")


def ask_elsewhere(function: Callable[..., R], *values: object) -> R:
    """Close this thread's connection to the database, call `function` with the values, and return its result.

    `function` asks a server, such as a name server. It must limit its time and must not use the database. Call this
    before a transaction begins, in a view of the lane ``outside`` or ``imports``. Requests that wait then use no
    connections. The next statement connects again.
    """
    if not connection.in_atomic_block:  # only in tests, which run in a transaction of their own
        connection.close()
    return function(*values)
