"""Baselines: files in git that tests compare with."""

import os
from pathlib import Path


def compared_with(baseline: Path, lines: list[str], write: bool) -> None:
    """Compare `lines` with a file in git, so that a change shows as a diff. With `write`, write the file
    instead."""
    text = "\n".join(lines) + "\n"
    if write:
        baseline.write_text(text)
    assert baseline.read_text() == text, stale(baseline.name)


def stale(name: str) -> str:
    """Return the message for a file `name` that differs from what the running test would write."""
    test = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]
    return f'{name} differs; if that is meant, run: make test ARGS="{test} --write-baselines"'
