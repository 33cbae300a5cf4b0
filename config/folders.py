"""Folders that the processes make for their files."""

import shlex
from pathlib import Path

from django.conf import settings


def state_variable() -> str:
    """``STATE_DIR=… `` for the start of a printed command. Empty for the default folder."""
    state, root = settings.STATE_DIR, settings.BASE_DIR
    if state == root / ".state":
        return ""
    # a relative path starts at the project's folder, in whichever folder the command is run
    return f"STATE_DIR={shlex.quote(str(state.relative_to(root) if state.is_relative_to(root) else state))} "


def make_private(folder: Path) -> None:
    """Make `folder`, and those above it that are missing, for their owner alone.

    `Path.mkdir(parents=True)` gives the mode to the last one only: a state folder that came to be above it could be
    read by others, and with `PRODUCTION` nothing starts then.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
