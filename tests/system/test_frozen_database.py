"""PostgreSQL freezes, with all its processes, as on a paused machine. No connection is refused."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import requests

from tests.system.server import TIMEOUT_SECONDS, Server
from tests.waiting import wait_for

pytestmark = pytest.mark.system

NOTICED = 60.0
"""Seconds within which a process must notice, on a busy machine. On a quiet one it takes ten."""
AT_ONCE = 10.0


@contextmanager
def frozen(state: Path) -> Iterator[None]:
    """Freeze the database of the folder for the length of the block."""
    postmaster = psutil.Process(int((state / "postgres" / "postmaster.pid").read_text().split()[0]))
    every = [postmaster, *postmaster.children(recursive=True)]
    for each in every:
        os.kill(each.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in reversed(every):
            os.kill(each.pid, signal.SIGCONT)


def timed(ask: Callable[[], requests.Response]) -> tuple[int, float]:
    """Return the status of the answer, and the seconds until it came."""
    began = time.monotonic()
    return ask().status_code, time.monotonic() - began


@pytest.fixture
def server(tmp_path) -> Iterator[Server]:
    server = Server(tmp_path)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()


def test_processes_live_and_say_that_they_are_of_no_use_and_no_job_is_lost(server, tmp_path):
    server.ready()
    server.read_on()
    site = f"http://127.0.0.1:{server.port}"
    headers = {"Authorization": f"Bearer {server.tokens()[0]}"}

    def get(path: str) -> requests.Response:
        # a connection for each: any free process answers
        return requests.get(f"{site}{path}", headers=headers, timeout=TIMEOUT_SECONDS)

    def create(label: str) -> requests.Response:
        body = {"type": "g6-nanode-1", "region": "us-east", "label": label}
        return requests.post(f"{site}/v4/compute/instances", json=body, headers=headers, timeout=TIMEOUT_SECONDS)

    wait_for(lambda: get("/readyz").status_code == 200)
    assert create("before").status_code == 200

    with frozen(tmp_path):
        status, seconds = timed(lambda: get("/v4/account"))
        sys.stdout.write(f"the first request: {status} after {seconds:.1f} s\n")
        assert (status, seconds < NOTICED) == (503, True)
        status, seconds = timed(lambda: get("/readyz"))
        sys.stdout.write(f"/readyz: {status} after {seconds:.1f} s\n")
        assert (status, seconds < NOTICED) == (503, True)
        # each process notices by itself, at its own first request, and any of them may answer
        wait_for(lambda: all(timed(lambda: get("/readyz"))[1] < 1 for _ in range(12)))
        for path, wanted in (("/livez", 200), ("/version", 200), ("/readyz", 503), ("/v4/account", 503)):
            for _ in range(6):
                status, seconds = timed(lambda path=path: get(path))
                assert (path, status, seconds < AT_ONCE) == (path, wanted, True)
        status, seconds = timed(lambda: create("meanwhile"))
        assert (status, seconds < AT_ONCE) == (503, True)

    wait_for(lambda: get("/readyz").status_code == 200)
    wait_for(lambda: {get("/v4/account").status_code for _ in range(6)} == {200})
    wait_for(lambda: create("after").status_code == 200)

    def statuses() -> dict[str, str]:
        # one of the processes may still answer 503: each finds out by itself that the database is back
        found = get("/v4/compute/instances").json().get("data", ())
        return {each["label"]: each["status"] for each in found}

    wait_for(lambda: statuses() == {"example": "running", "before": "offline", "after": "offline"})
    assert server.stop() == 0
