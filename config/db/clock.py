"""The database's clock. It determines all times that workers compare, because the clocks of machines may differ."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """Return the current time, inside a transaction too."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
