"""The log of a host's agent: the output of failed programs, and unexpected errors of the agent.

It is a file of the host. Callers never get the output of programs, which may contain lines of the host's files.
"""

import os
import time
from pathlib import Path

LOG, EARLIER = "agent.log", "agent.log.1"
MAX_BYTES = 1 << 20
"""The size at which a new log is started. The previous log is kept."""


def write(root: Path, verb: str, text: str) -> None:
    """Add an entry about a verb to the log in the directory of the host."""
    path = root / LOG
    entry = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {verb!r:.40}: {text.rstrip()}\n"
    root.mkdir(mode=0o711, parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > MAX_BYTES:
        path.replace(root / EARLIER)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
        log.write(entry.encode(errors="replace"))
