"""How commands say what is wrong: a line for each field, and no traceback where the surroundings are to blame."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import OperationalError

from config.errors import DomainError, Problem


def refused(error: DomainError) -> CommandError:
    """What a service refused, as a command's error: ``field: reason`` in a line each."""
    return CommandError("\n".join(map(_line, error.problems)))


def _line(problem: Problem) -> str:
    return f"{problem.field}: {problem.reason}" if problem.field else problem.reason


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End the process with a line where the database cannot be reached; whatever else it raises is raised on."""
    try:
        yield
    except OperationalError as error:
        if not _is_unreachable(error):
            raise
        sys.exit(f"DATABASE_URL: {' '.join(str(error).split())}")


def _is_unreachable(error: OperationalError) -> bool:
    """Whether there was no connection. A statement that fails has an SQLSTATE."""
    return getattr(error.__cause__, "sqlstate", None) is None
