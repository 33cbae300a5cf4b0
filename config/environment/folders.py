"""Folders that the processes make for their files."""

import shlex
from pathlib import Path

from django.conf import settings

from config.environment import places


def state_variable() -> str:
    """``STATE_DIR=… `` for the start of a printed command. Empty for the default folder."""
    state, root = settings.STATE_DIR, places.ROOT
    if state == places.default_state():
        return ""
    # In the source tree, a relative path starts at the project's folder, whatever the folder of the command.
    return f"STATE_DIR={shlex.quote(str(state.relative_to(root) if state.is_relative_to(root) else state))} "


def make_private(folder: Path) -> None:
    """Create `folder`, and missing folders above it, for their owner alone.

    `Path.mkdir(parents=True)` sets the mode of the last one only. Other users could then read a state folder that
    was created above it, and with `PRODUCTION` nothing starts.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
