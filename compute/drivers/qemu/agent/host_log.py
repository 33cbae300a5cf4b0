"""The log of a host's agent, a file of the host: what programs said, and where the agent itself failed.

A caller gets sentences of ours alone. What a program says may contain lines of the host's files.
"""

import os
import time
from pathlib import Path

LOG, EARLIER = "agent.log", "agent.log.1"
MAX_BYTES = 1 << 20
"""The size beyond which the log begins anew. The one before is kept."""


def write(root: Path, verb: str, text: str) -> None:
    """Add an entry about a verb to the log in the directory of the host."""
    path = root / LOG
    entry = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {verb!r:.40}: {text.rstrip()}\n"
    root.mkdir(mode=0o711, parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > MAX_BYTES:
        path.replace(root / EARLIER)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
        log.write(entry.encode(errors="replace"))
