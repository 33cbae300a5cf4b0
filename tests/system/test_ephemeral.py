"""``manage.py serve`` with EPHEMERAL=1 from its user's view: another program that starts it for its tests."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
import requests

from config.laptop.serving import ephemeral
from tests.system.server import ROOT, SERVE, TIMEOUT_SECONDS, environment
from tests.waiting import wait_for

pytestmark = pytest.mark.system
# A program that starts the installation and passes its output on.
PARENT = "import subprocess, sys; subprocess.run(sys.argv[1:])"


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start an installation below a process that can be killed. Returns the process and the line of JSON."""
    (tmp_path / "tmp").mkdir()
    ours = {name: value for name, value in environment(tmp_path).items() if name not in ephemeral.OF_OTHERS}
    ours |= {
        "EPHEMERAL": "1",
        "PORT": "0",
        "TMPDIR": str(tmp_path / "tmp"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    started = []

    def start() -> tuple["subprocess.Popen[str]", dict]:
        with (tmp_path / "log").open("a") as log:
            parent = subprocess.Popen(
                [sys.executable, "-c", PARENT, *SERVE],
                cwd=ROOT, env=ours, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        started.append(parent)
        line = parent.stdout.readline()
        assert line.startswith("{"), (tmp_path / "log").read_text()
        return parent, json.loads(line)

    yield start
    for parent in started:
        if parent.poll() is None:  # a failed test has not stopped it
            for process in [*psutil.Process(parent.pid).children(recursive=True), parent]:
                process.kill()
        parent.wait(TIMEOUT_SECONDS)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    ephemeral.remove_abandoned()


def folders(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "tmp").glob(f"{ephemeral.PREFIX}*"))


def test_it_is_ready_with_one_line_and_leaves_nothing(start, tmp_path):
    _, first = start()
    os.kill(first["pid"], signal.SIGKILL)
    wait_for(lambda: not psutil.pid_exists(first["pid"]))
    [abandoned] = folders(tmp_path)

    parent, second = start()
    assert not abandoned.exists()
    api = requests.Session()
    api.headers["Authorization"] = f"Bearer {second['tokens']['owner']}"
    body = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/debian11", "root_pass": "fV7-longer-word"}
    made = api.post(f"{second['address']}/compute/instances", json=body, timeout=TIMEOUT_SECONDS)
    assert made.status_code == 200, made.text
    one = f"{second['address']}/compute/instances/{made.json()['id']}"
    wait_for(lambda: api.get(one, timeout=TIMEOUT_SECONDS).json()["status"] == "running")
    assert set(second["passwords"]) == {"owner", "restricted", "staff"}
    assert second["tokens"].keys() == {"owner", "restricted", "staff"}
    assert not set(second["tokens"].values()) & set(first["tokens"].values())
    api.headers["Authorization"] = f"Bearer {second['tokens']['staff']}"
    assert api.get(f"{second['address']}/account", timeout=TIMEOUT_SECONDS).json()["company"] == "Staff"
    assert api.get(one, timeout=TIMEOUT_SECONDS).status_code == 404

    parent.kill()
    assert parent.stdout.read() == "", "it prints one line only"
    wait_for(lambda: not psutil.pid_exists(second["pid"]))
    wait_for(lambda: folders(tmp_path) == [])
    assert len(list((tmp_path / "cache" / "skerry").iterdir())) == 1
