"""The folders of the application, and the words of its commands, which differ between source tree and package."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The folder of the application's modules: the source tree, or a folder in the installed package."""
INSTALLED = not (ROOT / "pyproject.toml").exists()
"""Whether the application runs from an installed package. Only the source tree has that file."""
MANAGE = "skerry manage" if INSTALLED else "manage.py"
"""The command that runs a command of Django."""


def starting_folder() -> Path:
    """Return the folder where relative paths in variables start: the source tree.

    For a package, relative paths start at the folder in which the command ``skerry`` was run.
    """
    return Path(os.environ.get("SKERRY_STARTED_IN") or Path.cwd()) if INSTALLED else ROOT


def default_state() -> Path | None:
    """Return the folder of the data if STATE_DIR does not name one. None if this user has no home folder.

    A package may be read-only, and an upgrade replaces its folder. So its data is where the XDG Base Directory
    Specification wants it, which ignores relative paths in the variable.
    """
    if not INSTALLED:
        return ROOT / ".state"
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        return (given if given.is_absolute() else Path.home() / ".local" / "state") / "skerry"
    except RuntimeError:
        return None


def serve_command(**variables: object) -> str:
    """Return the command that runs everything, with variables, for a message."""
    given = " ".join(f"{name}={value}" for name, value in variables.items())
    return f"{given} skerry serve".strip() if INSTALLED else f"make serve {given}".strip()
