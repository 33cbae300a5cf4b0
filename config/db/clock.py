"""The database's clock, which times everything that workers compare: their own clocks may differ."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """The time at this moment, inside a transaction too."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
