#!/usr/bin/env python3
"""Django's command line. Uses the project's own environment if it was started with another Python."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def use_project_environment() -> None:
    """Re-execute under ``.venv`` where it exists and Django is not at hand, so that scripts need not care."""
    python = HERE / ".venv" / "bin" / "python"
    if python.exists() and Path(sys.prefix).resolve() != python.parent.parent.resolve():
        os.execv(python, [str(python), *sys.argv])  # noqa: S606


def main() -> None:
    """Run the command in `sys.argv`. Ctrl-C ends it with a line."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit("Stopped.")  # Ctrl-C while this still starts, or in a command that does not end in its own way


def _run() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        use_project_environment()
        raise
    from config.processes.garbage import put_off_full_collections

    if sys.argv[1:2] == ["serve"]:
        put_off_full_collections()
    from config.laptop.embedded.command_line import services_for
    from config.laptop.serving.ephemeral import temporary_folder
    from config.processes.command_errors import migrated, one_line_errors, quiet_if_reader_leaves

    with (
        quiet_if_reader_leaves(),
        one_line_errors(),
        temporary_folder(sys.argv),
        services_for(sys.argv),
        migrated(),
    ):
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
