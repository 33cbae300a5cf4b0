"""The addresses of a state folder's embedded services. This module creates and starts nothing."""

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

USER = "skerry"
DATABASE = "skerry"
# PostgreSQL names its socket after a port even if it listens on no port.
POSTGRES_PORT = "5432"

# A socket's path has at most 107 bytes (sun_path of unix(7), less its final zero).
MAX_SOCKET_PATH = 107
LONGEST_SOCKET_NAME = f".s.PGSQL.{POSTGRES_PORT}"


def socket_folder(state: Path) -> Path:
    """Return the folder of the sockets: inside `state`, or under /tmp if that path is too long for a socket.

    A comma separates hosts in PostgreSQL's connection strings. So a path with a comma is moved too.
    """
    inside = state / "sockets"
    if len(bytes(inside / LONGEST_SOCKET_NAME)) <= MAX_SOCKET_PATH and "," not in str(inside):
        return inside
    name = hashlib.sha256(bytes(state)).hexdigest()[:16]
    return Path(f"/tmp/skerry-{name}")  # noqa: S108 (made with mode 0700, its owner is checked)


def postgres_socket(state: Path) -> Path:
    return socket_folder(state) / LONGEST_SOCKET_NAME


def valkey_socket(state: Path) -> Path:
    return socket_folder(state) / "valkey.sock"


def database(state: Path) -> dict[str, Any]:
    """Return the entry of Django's DATABASES for the embedded PostgreSQL."""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": DATABASE,
        "USER": USER,
        "HOST": str(socket_folder(state)),
        "PORT": POSTGRES_PORT,
    }


def redis_url(state: Path) -> str:
    """Return the embedded server's address in the format of redis-py."""
    return f"unix://{quote(str(valkey_socket(state)))}?db=0"


def broker_url(redis: str) -> str:
    """Return a Redis address in the format of kombu, which differs only for sockets."""
    if not redis.startswith("unix://"):
        return redis
    return redis.replace("unix://", "redis+socket://", 1).replace("db=", "virtual_host=")
