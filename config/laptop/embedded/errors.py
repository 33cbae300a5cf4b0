"""Errors of embedded services, in words for the person at the terminal."""

import errno
import os
import shutil
from collections import deque
from pathlib import Path

NO_SPACE = os.strerror(errno.ENOSPC)
# Two segments of PostgreSQL's log: with less free space than this, a full disk may have ended the server.
LITTLE_SPACE = 32 * 1024**2


class EmbeddedError(Exception):
    """An embedded service cannot be started or used. The text says why."""


def last_lines(log: Path, count: int = 12) -> str:
    """Return the end of a service's log, for an error message. Empty if there is none."""
    try:
        with log.open(errors="replace") as lines:
            return "".join(deque(lines, maxlen=count))
    except OSError:
        return ""


def full_disk(folder: Path, message: str, log: Path | None = None) -> str | None:
    """Return a sentence for an error caused by a full disk, or None for any other error.

    `message` is the text of the error, and `folder` is on the disk. A server that cannot write its own log ends at
    once, and its clients only see the connection close. Then the end of the server's `log` has the cause.
    """
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return None
    if NO_SPACE not in message and not (log and free < LITTLE_SPACE and NO_SPACE in last_lines(log)):
        return None
    left = f"{free // 1024**2} MB left"
    return (
        f"The disk of {folder} is full ({left}). Free some space there, or set STATE_DIR to a folder on another "
        "disk."
    )
