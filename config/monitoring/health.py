"""The readiness of this process: whether its database answers and has the tables that this release expects."""

from functools import cache

from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader

from config.monitoring.registry import Trouble

MISSING = """
SELECT wanted.app || '.' || wanted.name
  FROM unnest(%s::text[], %s::text[]) AS wanted (app, name)
 WHERE NOT EXISTS (
    SELECT FROM django_migrations AS done WHERE done.app = wanted.app AND done.name = wanted.name)
"""


@cache
def newest_migrations() -> tuple[list[str], list[str]]:
    """Return the apps, and the name of each app's last migration in this release.

    It needs all earlier migrations too.
    """
    nodes = MigrationLoader(None).graph.leaf_nodes()
    return [app for app, _ in nodes], [name for _, name in nodes]


def failures() -> list[Trouble]:
    """Return the reasons why this process cannot answer requests."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(MISSING, newest_migrations())
            missing = sorted(name for (name,) in cursor.fetchall())
    except Error:
        connection.close()
        return [Trouble("database", "The database does not answer, or has no tables.")]
    return [Trouble("migrations", f"Migrations are missing: {', '.join(missing)}.")] if missing else []
