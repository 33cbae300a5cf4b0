"""Folders, sockets and programs of the embedded services."""

import importlib.util
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.laptop.embedded.errors import EmbeddedError, full_disk


def private_folder(path: Path) -> Path:
    """Create `path` for its owner alone. Raises `EmbeddedError` if another user owns it already.

    Any user who can open the sockets is the database's superuser, and every user can write to /tmp. A folder there
    that another user created first must not be used.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = path.stat().st_uid
    except OSError as error:
        raise EmbeddedError(f"Cannot use the folder {path}: {error.strerror}.") from error
    if os.geteuid() not in (owner, 0):
        raise EmbeddedError(f"The folder {path} belongs to another user. Set STATE_DIR to one of your own.")
    return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the system's errors while `path` is written into `EmbeddedError`."""
    try:
        yield
    except OSError as error:
        raise EmbeddedError(
            full_disk(path.parent, str(error)) or f"Cannot write {path}: {error.strerror}."
        ) from error


def package_folder(name: str) -> Path:
    """Return the folder of the installed package `name`, found without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError(f"The package {name} is not installed: there is no embedded service to run.")
    return Path(spec.submodule_search_locations[0])


def answers(path: Path) -> bool:
    """Tell whether a process listens on the socket `path`.

    A pid file may be wrong after SIGKILL, but a socket is not.
    """
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2)
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True
