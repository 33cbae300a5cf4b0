"""The blocks of the README and of docs that a person types, and their commands."""

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
    """The text between two fences.

    `typed_by` is the test file that types it, if it needs a machine of its own. Else the test of all pages
    does.
    """

    text: str
    typed_by: str


@dataclass(frozen=True)
class Command:
    """One command, of one or several lines, with its comment: the reason of a refusal, or a part of the answer.

    A reason that is longer than its comment ends there with an ellipsis.
    """

    text: str
    refused: str
    answers: str


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page for a shell (bash, sh, console), in order."""
    found = BLOCK.finditer(PAGES[page].read_text())
    return [Block(textwrap.dedent(match["text"]), match["test"] or "") for match in found]


def blocks_for(test: str) -> list[str]:
    """Return the blocks that the test of this file types, unchanged. `test` is its ``__file__``."""
    name = str(Path(test).resolve().relative_to(ROOT))
    found = [block.text for page in PAGES for block in blocks(page) if block.typed_by == name]
    assert found, f"no page has a block for {name}"
    return found


def replaced(text: str, others: dict[str, str]) -> str:
    """Return the text with replacements. Each text to replace must exist."""
    for old, new in others.items():
        assert old in text, f"{old!r} is not there any more"
        text = text.replace(old, new)
    return text


def commands(text: str) -> list[Command]:
    """Split a block into commands: the input that a shell reads between two prompts."""
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
    return not done.returncode and not done.stderr  # for an unfinished here-document it only warns
