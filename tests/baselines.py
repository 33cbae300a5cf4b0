"""Files in git that guards compare with."""

from pathlib import Path


def compared_with(baseline: Path, lines: list[str], write: bool) -> None:
    """Compare `lines` with a file in git, so that a change shows as a diff; or write it anew."""
    text = "\n".join(lines) + "\n"
    if write:
        baseline.write_text(text)
    assert baseline.read_text() == text, f"{baseline.name} differs; if that is meant, run with --write-baselines"
