"""Folders that the processes make for their files."""

from pathlib import Path


def make_private(folder: Path) -> None:
    """Make `folder`, and those above it that are missing, for their owner alone.

    `Path.mkdir(parents=True)` gives the mode to the last one only: a state folder that came to be above it could be
    read by others, and with `PRODUCTION` nothing starts then.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
