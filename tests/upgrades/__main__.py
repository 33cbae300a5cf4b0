"""Write a filled database of the present commit as plain SQL: ``python -m tests.upgrades NAME``.

To be done for a release, with DATABASE_URL naming a server of PostgreSQL 15: what ``pg_dump`` of 15 writes, later
ones load as well. NAME.sql appears in tests/upgrades/databases and is never changed again.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.upgrades import KEY

FOLDER = Path(__file__).with_name("databases")
NOISE = re.compile(r"^(--.*|\\(un)?restrict .*|SET transaction_timeout .*)?\n", re.MULTILINE)


def main(name: str) -> None:
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "ENCRYPTION_KEYS": KEY,
        "DRIVER_SCALE": "0",
        "NODEBALANCER_DIR": "/nonexistent",
    }
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from tests.databases import another_database
    from tests.upgrades.filling import fill

    with another_database():
        call_command("migrate", verbosity=0, interactive=False)
        fill()
        (FOLDER / f"{name}.sql").write_text(dumped(connection.get_connection_params()))


def dumped(params: dict) -> str:
    """Return the whole database as statements that any client can send."""
    where = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGPASSWORD": "password", "PGDATABASE": "dbname"}
    env = {**os.environ, **{name: str(params[key]) for name, key in where.items() if params.get(key)}}
    command = ["pg_dump", "--no-owner", "--no-privileges", "--inserts", "--rows-per-insert=50"]
    return NOISE.sub("", subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
