"""Errors of commands: a line for each field, and no traceback if the environment is the cause."""

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management.base import CommandError
from django.db import (
    DEFAULT_DB_ALIAS,
    InterfaceError,
    InternalError,
    OperationalError,
    ProgrammingError,
    connections,
)

from config.display.plurals import counted
from config.environment.places import MANAGE, serve_command
from config.environment.variables import is_set
from config.errors import DomainError, Problem

BROKEN_PIPE = 141
"""The exit code that shells show for a program that SIGPIPE ended."""
UNDEFINED_TABLE, UNDEFINED_COLUMN = "42P01", "42703"
"""SQLSTATEs of PostgreSQL."""
NO_TABLES = (
    f"The database {{where}} has no tables. `{MANAGE} migrate` creates them. If {serve_command()} runs with another"
    " STATE_DIR, set the same STATE_DIR for the command."
)
OLD_TABLES = f"The database {{where}} lacks {{missing}}: run `{MANAGE} migrate`."


def refused(error: DomainError) -> CommandError:
    """Return a service's refusal as a command's error: a line ``field: reason`` for each problem."""
    return CommandError("\n".join(map(_line, error.problems)))


def _line(problem: Problem) -> str:
    return f"{problem.field}: {problem.reason}" if problem.field else problem.reason


def is_unreachable(error: Exception) -> bool:
    """Tell whether the database could not be reached. The error of a statement that failed has an SQLSTATE."""
    return getattr(error.__cause__, "sqlstate", None) is None


def named(message: str) -> str:
    """Return the line that names the variable DATABASE_URL as the cause of the database's `message`."""
    return f"DATABASE_URL: {message}"


@contextmanager
def quiet_if_reader_leaves() -> Iterator[None]:
    """End the process without a message if the reader of its output has closed the pipe, as `head` does.

    Python writes the rest of its buffer at its end. This would fail with a message, so the rest is discarded.
    """
    try:
        yield
        if sys.stdout is not None:  # closed by `>&-`
            sys.stdout.flush()
    except BrokenPipeError:
        if not _has_lost_its_reader():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BROKEN_PIPE)


def _has_lost_its_reader() -> bool:
    """Tell whether standard output is a pipe that nobody reads. Another pipe or socket may be the broken one."""
    output = select.poll()
    output.register(sys.stdout.fileno(), select.POLLOUT)
    return any(event & select.POLLERR for _, event in output.poll(0))


@contextmanager
def one_line_errors(
    line: Callable[[str], str] = named, which: Callable[[Exception], bool] = is_unreachable
) -> Iterator[None]:
    """End the process with one line if the block cannot use the database. Other errors propagate.

    `line` makes this line from the database's message, which is passed as one line. `which` selects the errors to
    handle among `OperationalError`, `InterfaceError` and `InternalError`. By default it selects a database that
    cannot be reached. `InternalError` follows when the database closed a connection that was idle in a transaction.
    """
    try:
        yield
    except (OperationalError, InterfaceError, InternalError) as error:
        if not which(error):
            raise
        sys.exit(line(" ".join(str(error).split())))


@contextmanager
def migrated() -> Iterator[None]:
    """End the process with one line if the block fails for lack of migrations. Other errors propagate."""
    try:
        yield
    except ProgrammingError as error:
        state = getattr(error.__cause__, "sqlstate", None)
        message = _lacks() if state in (UNDEFINED_TABLE, UNDEFINED_COLUMN) else ""
        if not message:
            raise
        sys.exit(message)


def _lacks() -> str:
    """Return a sentence about migrations that the database lacks. Empty if it has all."""
    from django.db.migrations.executor import MigrationExecutor  # needs the apps, which a command has loaded by now

    executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    where = "of DATABASE_URL" if is_set("DATABASE_URL") else f"in {settings.STATE_DIR}"
    if not executor.loader.applied_migrations:
        return NO_TABLES.format(where=where)
    return OLD_TABLES.format(where=where, missing=counted(len(missing), "migration")) if missing else ""
