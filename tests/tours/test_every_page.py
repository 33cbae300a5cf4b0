"""Whatever a page has people type does what the page says, also when it is typed again."""

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
}
"""The blocks that make a machine something else than a laptop with `make serve`, or need tools of clients, and what
types them there.

No other block is left out, and a new one here is seen in a review.
"""

TYPED = [page for page in PAGES if any(not block.typed_by for block in blocks(page))]
BUSY = "Compute busy."
FENCE = re.compile(r"^ *```(\w*)\n.*?^ *```$", re.MULTILINE | re.DOTALL)
ASKED = "The code:"
PASTED = f'echo "{ASKED}"; read -r CODE\n'


def test_what_is_not_typed_here_is_typed_elsewhere():
    found = {page: [block.typed_by for block in blocks(page) if block.typed_by] for page in PAGES}
    assert {page: tests for page, tests in found.items() if tests} == ELSEWHERE
    for test in {test for tests in ELSEWHERE.values() for test in tests}:
        assert "blocks_for(__file__)" in (ROOT / test).read_text(), f"{test} types no block"


@pytest.mark.parametrize("page", PAGES)
def test_a_block_says_of_itself_what_it_is(page):
    """One without a language could be a command that nobody types."""
    known = {"bash", "sh", "console", "json", "mermaid", "python", "text", "yaml"}
    assert set(FENCE.findall(PAGES[page].read_text())) <= known


@pytest.mark.parametrize("page", TYPED)
def test_a_page_can_be_typed_twice(page, server, terminal, folder):
    # the first page has docs/shell.sh make a token; to do so on all of them would only take time
    shell = terminal() if page == "README.md" else terminal(T=server.token)
    for _ in range(2):
        shown = ""
        for block in blocks(page):
            shown = type_block(block, shown, shell, server)
    assert [left.name for left in folder.iterdir()] == ["docs"]


def type_block(block: Block, before: str, shell: Terminal, server: LiveServer) -> str:
    """Type all commands of a block and check what each of them shows; returns that of the last.

    `before` is what the last command before the block showed. A job may be over before the next command is read.
    Where that is to be refused as busy no host answers until it was, so that it is not for chance to say.
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
    """Fail unless the command went well, or was refused for the reason in its comment."""
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
    """Why the API refused something, in error bodies and in what docs/shell.sh says of them."""
    bodies = re.findall(r'\{"errors":\[.*\]\}', shown)
    said = re.findall(r"^refused: (?:[\w.]+: )?(.*)$", shown, re.MULTILINE)
    return {error["reason"] for body in bodies for error in json.loads(body)["errors"]} | set(said)
