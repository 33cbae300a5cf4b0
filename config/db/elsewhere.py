"""Waiting for somebody else's server, without a connection to the database meanwhile."""

from collections.abc import Callable
from typing import TypeVar

from django.db import connection

R = TypeVar("R")


def ask_elsewhere(function: Callable[..., R], *values: object) -> R:
    """What `function` returns for these values, or raises: the answer of a name server, say.

    Call it before the transaction begins, with a function that bounds its time and does not use the database. The
    thread's connection is closed first, so that many requests that wait take none; the next statement opens one.
    """
    if not connection.in_atomic_block:  # only in tests, which run in a transaction of their own
        connection.close()
    return function(*values)
