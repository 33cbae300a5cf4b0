"""The address of the ``make serve`` that runs on a state folder. This module starts nothing: settings use it."""

import fcntl
import re
from pathlib import Path

LOCK_FILE = "serve.lock"
"""The file that ``make serve`` locks while it runs, with its address."""
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d{1,5}")


def served_at(state: Path) -> str:
    """Return the address of the ``make serve`` that runs on the folder `state`. Empty if none runs."""
    try:
        with (state / LOCK_FILE).open(errors="replace") as file:
            found = file.read(200)
            if not ADDRESS.fullmatch(found):
                return ""
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return found
    except OSError:
        return ""
    return ""  # it was killed: the lock is gone, but the file still has the address
