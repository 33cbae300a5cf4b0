"""Programs that read the OpenAPI document, and a live server for generated clients."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.running import running
from tests.tours.server import LiveServer

HERE = Path(__file__).parent
BIN = HERE / "node_modules" / ".bin"
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}

Run = Callable[..., subprocess.CompletedProcess[str]]


def run(*command: object, cwd: Path = HERE, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. `stdout` has both of its outputs."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **QUIET, "PATH": path, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture(scope="session")
def node() -> Run:
    """Return a function that runs a program installed by `make clients`."""
    if not BIN.exists():
        pytest.skip("the packages of tests/clients are not there: make clients, which needs Node 20 and npm")

    def start(program: str, *arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
        return run(BIN / program, *arguments, **env)

    return start


@pytest.fixture(scope="package")
def server(tmp_path_factory) -> Iterator[LiveServer]:
    with running(LiveServer(tmp_path_factory.mktemp("live"))) as server:
        yield server
