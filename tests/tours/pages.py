"""The blocks of the README and of docs that somebody is to type, and the commands that they are made of."""

import re
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
PAGES = {str(page.relative_to(ROOT)): page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]}
BLOCK = re.compile(
    r"^ *(?:<!-- typed by: (?P<test>\S+) -->\n+ *)?```(?:bash|sh|console)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
REFUSED = re.compile(r"\s# refused: (.*)$")
ANSWERS = re.compile(r"\s# (\{.*\})")


@dataclass(frozen=True)
class Block:
    """What stands between two fences. `typed_by` is the file of the test that types it, where that is another than
    the one of all pages: on a machine of its own."""

    text: str
    typed_by: str


@dataclass(frozen=True)
class Command:
    """One command, of one or several lines, and what its comment says: why it is refused, what the answer has.

    A reason that is longer than its comment ends there with an ellipsis.
    """

    text: str
    refused: str
    answers: str


def blocks(page: str) -> list[Block]:
    """The blocks of a page for a shell (bash, sh, console), in its order."""
    found = BLOCK.finditer(PAGES[page].read_text())
    return [Block(textwrap.dedent(match["text"]), match["test"] or "") for match in found]


def blocks_for(test: str) -> list[str]:
    """What the test of this file is to type, as it stands: `test` is its ``__file__``."""
    name = str(Path(test).resolve().relative_to(ROOT))
    found = [block.text for page in PAGES for block in blocks(page) if block.typed_by == name]
    assert found, f"no page has a block for {name}"
    return found


def replaced(text: str, others: dict[str, str]) -> str:
    """The text with each of these in place of what is there, which has to be there."""
    for old, new in others.items():
        assert old in text, f"{old!r} is not there any more"
        text = text.replace(old, new)
    return text


def commands(text: str) -> list[Command]:
    """What a shell reads of a block between one prompt and the next."""
    found, lines = [], ""
    for line in text.splitlines(keepends=True):
        lines += line
        if _is_complete(lines):
            refused, answers = REFUSED.search(line), ANSWERS.search(line)
            found.append(Command(lines, refused[1] if refused else "", answers[1] if answers else ""))
            lines = ""
    assert not lines, f"a command without an end: {lines}"
    return found


def _is_complete(text: str) -> bool:
    if text.endswith("\\\n"):
        return False
    done = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True)
    return not done.returncode and not done.stderr  # of a file's text that has no end yet it only warns
