"""Databases of tests: empty ones besides the usual one, and deletion of the rows of a test that commits."""

import itertools
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import IntegrityError, connection, transaction

LASTING = {model._meta.db_table for model in (ContentType, Permission)}
"""Tables that a migration fills, and no test changes."""
ROUNDS = 5
"""The number of attempts to delete rows while a server that outlives a test still writes some."""
BETWEEN = 25
"""The number of deletions after which tables are truncated."""
_times = itertools.count(1)


def empty() -> None:
    """Delete the rows of all tables except the lasting ones.

    Django would create these again, with other ids. A server that outlives a test remembers content types by
    their ids. It could not write to the admin's log in the next test.

    Most tables are empty, and deleting a few rows takes a tenth of the time of truncating all tables. Sometimes
    they are truncated all the same: rows that tests rolled back take room, and slow the later tests down.
    """
    if next(_times) % BETWEEN == 0:
        connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), _tables()))
        return
    for _ in range(ROUNDS - 1):
        with suppress(IntegrityError):
            _delete_all()
            return
    _delete_all()


def _delete_all() -> None:
    """Delete all rows. Foreign keys are checked at the end, so the order does not matter, but a server's
    inserts do."""
    tables = [f'"{name}"' for name in _tables()]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"(SELECT '{table}' FROM {table} LIMIT 1)" for table in tables))
        for (table,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {table}")


def _tables() -> list[str]:
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return sorted({*names} - LASTING)


def commit_quickly(name: str) -> None:
    """Make new connections to a database commit without waiting for the disk.

    The rows of tests need not outlive the machine. The disk takes a few milliseconds for each commit.
    """
    with connection.cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off')


@contextmanager
def rolled_back() -> Iterator[None]:
    """Roll back the rows of the block, which tests of a module share.

    In the block, the transaction of a test is a savepoint, so the test's own changes are rolled back at its end.
    """
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@contextmanager
def another_database() -> Iterator[str]:
    """Connect the default connection to a new database without tables. Yields its name."""
    usual = connection.settings_dict["NAME"]
    name = f"{usual}_{secrets.token_hex(4)}"
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    connection.close()
    connection.settings_dict["NAME"] = name
    # the cache has the ids of the usual database, and this one has others
    ContentType.objects.clear_cache()
    try:
        yield name
    finally:
        ContentType.objects.clear_cache()
        connection.close()
        connection.settings_dict["NAME"] = usual
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
