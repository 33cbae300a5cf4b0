"""The benchmark's own databases, next to the one that DATABASE_URL names.

``<name>_bench_seed`` is filled once and kept for the next run. ``<name>_bench`` is copied from it for each run
and dropped afterwards, so that every run starts from the same rows.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

BASE_DIR = Path(__file__).resolve().parents[2]


class Databases:
    """Databases on the server of `url` (a ``postgres://`` address), which are made, copied and dropped."""

    def __init__(self, url: str):
        self.url = url
        self.prefix = (urlsplit(url).path.lstrip("/") or "skerry") + "_bench"

    def url_of(self, name: str) -> str:
        """The address of database `name` on the same server."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    def seeded(self, suffix: str, key: str, fill: Callable[[psycopg.Connection], None], fresh: bool) -> str:
        """Return the name of a migrated database filled by `fill`.

        A database of an earlier run is used again if it was completed under the same `key` and the same
        migrations. Both are stored in the database's comment, which is written last.
        """
        name = self.prefix + suffix
        key = hashlib.sha256((key + _migrations()).encode()).hexdigest()
        with self._server() as server:
            found = server.execute(
                "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", (name,)
            ).fetchone()
            if found and found[0] == key and not fresh:
                return name
            _drop(server, name)
            server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        migrate(self.url_of(name))
        with psycopg.connect(self.url_of(name), autocommit=True) as connection:
            fill(connection)
            connection.execute("VACUUM ANALYZE")
        with self._server() as server:
            comment = sql.SQL("COMMENT ON DATABASE {} IS {}")
            server.execute(comment.format(sql.Identifier(name), sql.Literal(key)))
        return name

    @contextmanager
    def copy(self, source: str):
        """Copy database `source` for the length of the block. Yields the address of the copy."""
        with self._server() as server:
            _drop(server, self.prefix)
            server.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                    sql.Identifier(self.prefix), sql.Identifier(source)
                )
            )
            server.execute("CHECKPOINT")
        try:
            yield self.url_of(self.prefix)
        finally:
            with self._server() as server:
                _drop(server, self.prefix)

    def drop_all(self) -> None:
        """Drop every database that the benchmark keeps."""
        with self._server() as server:
            kept = server.execute(
                "SELECT datname FROM pg_database WHERE datname = %s OR starts_with(datname, %s)",
                (self.prefix, self.prefix + "_"),
            ).fetchall()
            for (name,) in kept:
                _drop(server, name)

    def _server(self) -> psycopg.Connection:
        return psycopg.connect(self.url_of("postgres"), autocommit=True)


def migrate(url: str) -> None:
    """Migrate the database at `url`, in a process of its own: settings are read once in each process."""
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=BASE_DIR,
        env={**os.environ, "DATABASE_URL": url},
        check=True,
    )


def _drop(server: psycopg.Connection, name: str) -> None:
    server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _migrations() -> str:
    files = sorted(BASE_DIR.glob("*/migrations/*.py"))
    return "".join(f"{path}\n{path.read_text()}" for path in files)
