"""A live server for the tours of each test worker, and folders and shells to type in."""

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
    """A stand-in for the project's folder. It has the docs, and shows what a tour leaves in it."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    return tmp_path


@pytest.fixture
def terminal(server, folder) -> Iterator[Callable[..., Terminal]]:
    """Return a function that opens a terminal for the server, in `folder` or another one, with changed
    variables."""
    opened: list[Terminal] = []

    def build(cwd: Path = folder, **variables: str) -> Terminal:
        opened.append(Terminal(server.env | variables, cwd))
        return opened[-1]

    yield build
    for each in opened:
        each.close()
