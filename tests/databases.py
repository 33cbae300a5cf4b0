"""Databases of tests: empty ones beside the usual one, and what is left in that by a test that commits."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import connection
from django.test import TransactionTestCase

LASTING = {model._meta.db_table for model in (ContentType, Permission)}
"""Tables that a migration fills, and no test writes to."""


def empty() -> None:
    """Delete the rows of all tables but the lasting ones.

    Django would make these anew, with other numbers. A server that outlives a test remembers content types by their
    numbers, and could not write an entry to the log of the admin in the next one.
    """
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), sorted({*tables} - LASTING)))


@contextmanager
def emptied_by_us() -> Iterator[None]:
    """Have `empty` called after a test that commits, in place of Django's own way."""
    usual = TransactionTestCase._fixture_teardown
    TransactionTestCase._fixture_teardown = lambda case: empty()
    try:
        yield
    finally:
        TransactionTestCase._fixture_teardown = usual


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
