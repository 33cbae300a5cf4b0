"""Whatever a page has people type does what the page says, also when it is typed again."""

import json
import re
from contextlib import ExitStack
from itertools import pairwise

import pytest

from tests.tours.pages import PAGES, Block, Command, blocks, commands
from tests.tours.person import press_give_access
from tests.tours.server import LiveServer
from tests.tours.terminal import Terminal

IN_A_BROWSER = "what a browser is sent back with, when somebody has pressed Give access"
FOR_REAL = "by a test of its own, behind nginx"
"""tests/system/test_behind_proxy.py types README's *For real*."""
NOT_TYPED = {
    "README.md": [FOR_REAL] * 3,
    "docs/nodebalancers.md": ["as root, on a host that balances"],
    "docs/stackscripts.md": ["a script, which guests run"],
    "docs/signing-in.md": ["for a provider of your own", IN_A_BROWSER],
    "docs/stats.md": ["an answer that it takes ten minutes to have"],
    "docs/volumes.md": ["in the guest"],
}
"""Why blocks are not typed as they stand, by page, so that a new one is seen in a review."""

TYPED = [page for page in PAGES if any(not block.not_typed for block in blocks(page))]
BUSY = "Compute busy."


def test_blocks_that_are_not_typed_say_why():
    found = {page: [block.not_typed for block in blocks(page) if block.not_typed] for page in PAGES}
    assert {page: reasons for page, reasons in found.items() if reasons} == NOT_TYPED


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
    if block.not_typed == IN_A_BROWSER:
        return shell.type(f"CODE={press_give_access(server, before.strip())}\n")[0]
    if block.not_typed:
        return before
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
