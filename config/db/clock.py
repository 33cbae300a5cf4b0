"""The database's clock, by which all that workers compare is timed: theirs may differ."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """The time at this moment, inside a transaction too."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
