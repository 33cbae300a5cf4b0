"""A live server for the tests of each worker that types tours, and folders and shells to type in."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.running import running
from tests.tours.pages import ROOT
from tests.tours.server import LiveServer
from tests.tours.terminal import Terminal


@pytest.fixture(scope="package")
def server(tmp_path_factory) -> Iterator[LiveServer]:
    with running(LiveServer(tmp_path_factory.mktemp("live"))) as server:
        yield server


@pytest.fixture
def folder(tmp_path) -> Path:
    """Stands for the project's folder: has its docs, and shows what is left in it."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    return tmp_path


@pytest.fixture
def terminal(server, folder) -> Iterator[Callable[..., Terminal]]:
    """Open a terminal beside the server, in `folder` or another one, with more variables or other ones."""
    opened: list[Terminal] = []

    def build(cwd: Path = folder, **variables: str) -> Terminal:
        opened.append(Terminal(server.env | variables, cwd))
        return opened[-1]

    yield build
    for each in opened:
        each.close()
