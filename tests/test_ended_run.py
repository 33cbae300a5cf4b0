"""A run of tests that a signal ends stops its services."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from config.laptop.embedded import Postgres, Valkey
from tests.plugin_embedded import ROOT
from tests.waiting import wait_for

pytestmark = pytest.mark.system

TEST = """\
import time
from pathlib import Path

def test_that_does_not_end():
    Path(__file__).with_name("begun").touch()
    time.sleep(600)
"""


@contextmanager
def run_of_tests(folder: Path, *options: str) -> Iterator[subprocess.Popen]:
    """Start a run that is in the middle of a test, with services of its own in ``folder/state``."""
    (folder / "test_long.py").write_text(TEST)
    apart = {"STATE_DIR": str(folder / "state"), "DATABASE_URL": "", "REDIS_URL": ""}
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "REDIS_PREFIX"))}
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), f"--rootdir={ROOT}"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, *options, str(folder / "test_long.py")],
            cwd=ROOT,
            env=inherited | apart,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_for(lambda: (folder / "begun").exists() or process.poll() is not None)
        assert process.poll() is None, (folder / "log").read_text()
        yield process
    finally:
        process.kill()
        process.wait()
        for server in filter(lambda each: each.answers(), servers(folder)):
            server.stop()


def servers(folder: Path) -> list[Postgres | Valkey]:
    state = folder / "state" / "test"
    return [Postgres(state), Valkey(state)]


@pytest.mark.parametrize(("number", "options"), [(signal.SIGHUP, ()), (signal.SIGTERM, ("-n", "2"))])
def test_a_run_that_is_ended_stops_its_services(tmp_path, number, options):
    """As by ``timeout``, which signals the first process, and then all processes."""
    with run_of_tests(tmp_path, *options) as process:
        assert all(each.answers() for each in servers(tmp_path))
        process.send_signal(number)
        os.killpg(process.pid, number)
        process.wait(timeout=300)
        assert not any(each.answers() for each in servers(tmp_path))
    assert f"ended by {number.name}" in (tmp_path / "log").read_text()
