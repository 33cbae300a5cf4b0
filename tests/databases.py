"""Empty databases beside that of the tests."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.contenttypes.models import ContentType
from django.db import connection


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
