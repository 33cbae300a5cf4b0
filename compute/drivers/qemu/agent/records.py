"""Small JSON files beside a machine: what it is, how it booted, why it ended."""

import json
import os
from pathlib import Path
from typing import Any


def read(path: Path) -> dict[str, Any] | None:
    """None where there is no such file."""
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found


def write(path: Path, record: dict[str, Any]) -> None:
    """Replace a file as a whole: who reads it meanwhile has the old or the new, and so has a host after a crash."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    with new.open("w") as file:
        json.dump(record, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
