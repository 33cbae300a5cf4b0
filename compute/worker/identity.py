"""The platform's private key, as a file of the user that this worker runs as.

The key is an encrypted row of the database, so that workers on any machine have it, but ssh needs a file. The file
is in a directory of that user alone, below the directory for temporary files. Connections are kept in the same
directory.
"""

import hashlib
import os
import stat
import tempfile
from functools import cache
from pathlib import Path

from django.db import connection

from compute.drivers.base import DriverError
from compute.services.hosts import access


def file() -> Path:
    """Return the file of the key, and write it if it is missing. Raises `DriverError` if other
    users could read the directory."""
    found = _written(str(connection.settings_dict["NAME"]), tempfile.gettempdir())
    if not found.exists():  # systems delete old temporary files
        _written.cache_clear()
        found = _written(str(connection.settings_dict["NAME"]), tempfile.gettempdir())
    return found


@cache
def _written(database: str, temporary: str) -> Path:
    """Write the file once for each database that this process works on."""
    folder = _own_folder(Path(temporary) / f"skerry-{os.getuid()}")
    key = access.platform_key()
    path = folder / f"identity-{hashlib.sha256(key.public.encode()).hexdigest()[:12]}"
    if not path.exists():
        descriptor, part = tempfile.mkstemp(dir=folder)  # only this user may read it
        with os.fdopen(descriptor, "w") as new:
            new.write(access.private_part(key))
        Path(part).replace(path)
    return path


def _own_folder(path: Path) -> Path:
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise DriverError(
            "The worker's directory for keys is open to other users. The worker's log has its path."
        ) from PermissionError(f"{path} is not a directory of this user's alone")
    return path
