"""Every command on a page has the effect that the page describes, also when typed again."""

import json
import re
from contextlib import ExitStack
from itertools import pairwise

import pytest

from tests.tours.pages import PAGES, ROOT, Block, Command, blocks, commands
from tests.tours.person import press_give_access
from tests.tours.server import LiveServer
from tests.tours.terminal import Terminal

pytestmark = pytest.mark.tour

ELSEWHERE = {
    "README.md": ["tests/system/test_serve.py", *["tests/system/test_behind_proxy.py"] * 3],
    "docs/clients.md": ["tests/clients/test_generators.py"] * 3,
    "docs/domains.md": ["tests/compute/services/domains/test_as_typed.py"],
    "docs/guests.md": ["tests/compute/drivers/qemu/test_guest.py"],
    "docs/nodebalancers.md": ["tests/compute/services/nodebalancers/haproxy/test_as_typed.py"],
    "docs/signing-in.md": ["tests/system/test_with_provider.py"],
    "docs/usage.md": ["tests/compute/management/test_usage.py"],
}
"""Pages with blocks that need client tools, or a machine unlike a laptop with `make serve`. The tests type
these blocks.

No other block is left out, and a review sees a new one here.
"""

TYPED = [page for page in PAGES if any(not block.typed_by for block in blocks(page))]
BUSY = "Compute busy."
FENCE = re.compile(r"^ *```(\w*)\n.*?^ *```$", re.MULTILINE | re.DOTALL)
ASKED = "The code:"
PASTED = f'echo "{ASKED}"; read -r CODE\n'


def test_blocks_not_typed_here_are_typed_elsewhere():
    found = {page: [block.typed_by for block in blocks(page) if block.typed_by] for page in PAGES}
    assert {page: tests for page, tests in found.items() if tests} == ELSEWHERE
    for test in {test for tests in ELSEWHERE.values() for test in tests}:
        assert "blocks_for(__file__)" in (ROOT / test).read_text(), f"{test} types no block"


@pytest.mark.parametrize("page", PAGES)
def test_every_block_names_its_language(page):
    """A block without a language could be a command that no test types."""
    known = {"bash", "sh", "console", "json", "mermaid", "python", "text", "yaml"}
    assert set(FENCE.findall(PAGES[page].read_text())) <= known


@pytest.mark.parametrize("page", TYPED)
def test_a_page_can_be_typed_twice(page, server, terminal, folder):
    # docs/shell.sh makes a token on the first page; doing so on all pages would only take time
    shell = terminal() if page == "README.md" else terminal(T=server.token)
    for _ in range(2):
        shown = ""
        for block in blocks(page):
            shown = type_block(block, shown, shell, server)
    assert [left.name for left in folder.iterdir()] == ["docs"]


def type_block(block: Block, before: str, shell: Terminal, server: LiveServer) -> str:
    """Type all commands of a block and check the output of each. Returns the last output.

    `before` is the last output before the block. A job may end before the next command is read. If that command
    must be refused as busy, no host answers until the refusal, so the result is not random.
    """
    if block.typed_by:
        return before
    if block.text == PASTED:
        return shell.type(PASTED, asked=ASKED, answer=press_give_access(server, before.strip()))[0]
    shown = before
    with ExitStack() as unreachable:
        for command, following in pairwise([*commands(block.text), Command("", "", "")]):
            if following.refused == BUSY:
                unreachable.enter_context(server.without_hypervisor())
            shown, status = shell.type(command.text)
            check(command, shown, status)
            if command.refused == BUSY:
                unreachable.close()
    return shown


def check(command: Command, shown: str, status: int) -> None:
    """Fail unless the command succeeded, or was refused for the reason in its comment."""
    typed = f"$ {command.text}{shown}"
    assert "Traceback" not in shown, typed
    if command.refused:
        beginning, goes_on, _ = command.refused.partition(" …")
        assert {reason[: len(beginning)] if goes_on else reason for reason in reasons(shown)} == {beginning}, typed
    else:
        assert (reasons(shown), status) == (set(), 0), typed
    if command.answers:
        answer, wanted = json.loads(shown.splitlines()[-1]), json.loads(command.answers)
        assert {name: answer.get(name) for name in wanted} == wanted, typed


def reasons(shown: str) -> set[str]:
    """Return the reasons of refusals by the API, in error bodies and in messages of docs/shell.sh."""
    bodies = re.findall(r'\{"errors":\[.*\]\}', shown)
    refusals = re.findall(r"^refused: (?:[\w.]+: )?(.*)$", shown, re.MULTILINE)
    return {error["reason"] for body in bodies for error in json.loads(body)["errors"]} | set(refusals)
