"""Files in git that guards compare with."""

import os
from pathlib import Path


def compared_with(baseline: Path, lines: list[str], write: bool) -> None:
    """Compare `lines` with a file in git, so that a change shows as a diff; or write it anew."""
    text = "\n".join(lines) + "\n"
    if write:
        baseline.write_text(text)
    assert baseline.read_text() == text, stale(baseline.name)


def stale(name: str) -> str:
    """What to do about the file `name`, which is not as the test that runs would write it."""
    test = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]
    return f'{name} differs; if that is meant, run: make test ARGS="{test} --write-baselines"'
