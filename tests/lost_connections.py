"""End database connections, as a restart or an administrator does."""

import psycopg
from django.db import connection

from tests.waiting import wait_for

OTHERS = """
  FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


def administrator() -> psycopg.Connection:
    """Return a connection of the test's own, which `end_all` does not end."""
    parameters = connection.get_connection_params()
    names = ("host", "port", "user", "password", "dbname")
    return psycopg.connect(autocommit=True, **{name: parameters[name] for name in names if parameters.get(name)})


def end_all(administrator: psycopg.Connection) -> int:
    """End all connections to the test's database except the administrator's. Returns their number.

    Returns after their sessions have ended, so each client was notified.
    """
    ended = administrator.execute(f"SELECT pg_terminate_backend(pid) {OTHERS}").fetchall()
    wait_for(lambda: administrator.execute(f"SELECT {OTHERS}").fetchone() is None, every=0.001)
    return len(ended)
