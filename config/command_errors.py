"""How commands say what is wrong: a line for each field, and no traceback where the surroundings are to blame."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError

from config.errors import DomainError, Problem


def refused(error: DomainError) -> CommandError:
    """What a service refused, as a command's error: ``field: reason`` in a line each."""
    return CommandError("\n".join(map(_line, error.problems)))


def _line(problem: Problem) -> str:
    return f"{problem.field}: {problem.reason}" if problem.field else problem.reason


def is_unreachable(error: Exception) -> bool:
    """Whether there was no connection. A statement that fails has an SQLSTATE."""
    return getattr(error.__cause__, "sqlstate", None) is None


def named(said: str) -> str:
    """The line that blames the variable."""
    return f"DATABASE_URL: {said}"


@contextmanager
def one_line_errors(
    line: Callable[[str], str] = named, which: Callable[[Exception], bool] = is_unreachable
) -> Iterator[None]:
    """End the process with a line where the database cannot be used; whatever else it raises is raised on.

    `line` makes it of what the database said, in one line. `which` are the errors that are meant, of those that a
    database is to blame for: by default that it cannot be reached.
    """
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        if not which(error):
            raise
        sys.exit(line(" ".join(str(error).split())))
