"""Errors of commands: a line for each field, and no traceback where the environment is to blame."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import InterfaceError, InternalError, OperationalError

from config.errors import DomainError, Problem


def refused(error: DomainError) -> CommandError:
    """A service's refusal as a command's error: a line ``field: reason`` for each problem."""
    return CommandError("\n".join(map(_line, error.problems)))


def _line(problem: Problem) -> str:
    return f"{problem.field}: {problem.reason}" if problem.field else problem.reason


def is_unreachable(error: Exception) -> bool:
    """Whether the database could not be reached. The error of a statement that failed has an SQLSTATE."""
    return getattr(error.__cause__, "sqlstate", None) is None


def named(said: str) -> str:
    """The line that blames the variable DATABASE_URL for the database's message `said`."""
    return f"DATABASE_URL: {said}"


@contextmanager
def one_line_errors(
    line: Callable[[str], str] = named, which: Callable[[Exception], bool] = is_unreachable
) -> Iterator[None]:
    """End the process with one line where the block cannot use the database; other errors propagate.

    `line` makes that line of the database's message, which is given as one line. `which` selects among
    `OperationalError`, `InterfaceError` and `InternalError` those to be handled: by default, that the database
    cannot be reached. The last is what comes of a connection that was taken away, idle in a transaction.
    """
    try:
        yield
    except (OperationalError, InterfaceError, InternalError) as error:
        if not which(error):
            raise
        sys.exit(line(" ".join(str(error).split())))
