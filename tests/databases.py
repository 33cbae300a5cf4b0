"""Databases of tests: empty ones beside the usual one, and what is left in that by a test that commits."""

import itertools
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import IntegrityError, connection, transaction

LASTING = {model._meta.db_table for model in (ContentType, Permission)}
"""Tables that a migration fills, and no test writes to."""
ROUNDS = 5
"""How often the rows are deleted where a server that outlives a test still writes some."""
BETWEEN = 25
"""How many times rows are deleted until tables are truncated."""
_times = itertools.count(1)


def empty() -> None:
    """Delete the rows of all tables but the lasting ones.

    Django would make these anew, with other numbers. A server that outlives a test remembers content types by their
    numbers, and could not write an entry to the log of the admin in the next one. Most tables are empty, and to
    delete a few rows takes a tenth of the time that it takes to truncate them all. Now and then they are truncated
    all the same: what other tests have rolled back takes room, and is read over by all that come after.
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
    """Foreign keys are checked at the end, so that any order will do, but not what a server inserts meanwhile."""
    tables = [f'"{name}"' for name in _tables()]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"(SELECT '{table}' FROM {table} LIMIT 1)" for table in tables))
        for (table,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {table}")


def _tables() -> list[str]:
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return sorted({*names} - LASTING)


@contextmanager
def another_database() -> Iterator[str]:
    """Have the default connection lead to a new database without a table; yields its name."""
    usual = connection.settings_dict["NAME"]
    name = f"{usual}_{secrets.token_hex(4)}"
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    connection.close()
    connection.settings_dict["NAME"] = name
    # content types are remembered by their numbers, which are others there
    ContentType.objects.clear_cache()
    try:
        yield name
    finally:
        ContentType.objects.clear_cache()
        connection.close()
        connection.settings_dict["NAME"] = usual
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
