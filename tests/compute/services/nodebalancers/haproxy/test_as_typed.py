"""The commands for a balancing host in docs/nodebalancers.md, with a real HAProxy.

Only the folder and the region differ. If the test does not run as root, HAProxy keeps its user. A short script
stands in for systemd: it starts and reloads HAProxy as Debian's unit does.
"""

import getpass
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compute.services.nodebalancers.haproxy.running import (
    TIMEOUT_SECONDS,
    Client,
    WebServer,
    needs_haproxy,
    until,
)
from tests.ports import free_port
from tests.tours.pages import ROOT, blocks_for, replaced

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.guest]

BALANCERS = "/v4/nodebalancers"
SYSTEMCTL = """#!/bin/sh
case "$*" in
    "restart haproxy") haproxy -W -f {folder}/haproxy.cfg & echo $! > {folder}.pid ;;
    "reload haproxy") haproxy -W -f {folder}/haproxy.cfg -c -q && kill -USR2 $(cat {folder}.pid) ;;
    *) exit 1 ;;
esac
"""


class Host:
    """The host. The block is typed into a shell of its own, whose last command runs until the end."""

    def __init__(self, folder: Path, env: dict[str, str]):
        balancers, programs = folder / "b", folder / "bin"
        programs.mkdir()
        (programs / "systemctl").write_text(SYSTEMCTL.format(folder=balancers))
        (programs / "systemctl").chmod(0o755)
        self.log = folder / "log"
        self.socket = balancers / "haproxy.sock"
        own = {} if os.geteuid() == 0 else {"NODEBALANCER_USER=haproxy": f"NODEBALANCER_USER={getpass.getuser()}"}
        [block] = blocks_for(__file__)
        typed = replaced(block, {"/var/lib/skerry-balancers": str(balancers), "us-east": "us-test", **own})
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["bash", "-e", "-c", typed],
                cwd=ROOT, env=env | {"PATH": f"{programs}:{env['PATH']}"}, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True,
            )  # fmt: skip

    def works(self) -> bool:
        """Tell whether HAProxy runs. If the block ended, fail with its output."""
        assert self.process.poll() is None, self.log.read_text()
        return self.socket.exists()

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(TIMEOUT_SECONDS)


@pytest.fixture
def host(region, process_env) -> Iterator[Host]:
    needs_haproxy()
    with tempfile.TemporaryDirectory(prefix="lb") as folder:  # the paths of sockets must be short
        Path(folder).chmod(0o755)
        host = Host(Path(folder), process_env)
        try:
            yield host
        finally:
            host.stop()


def test_the_commands_of_the_page_balance_traffic(host: Host, api, servers: list[WebServer]):
    until(host.works, "HAProxy")
    port = free_port("127.8.0.4")
    nodes = [{"label": server.name, "address": server.node} for server in servers]
    made = api.post(BALANCERS, {"region": "us-test", "configs": [{"port": port, "nodes": nodes}]}).json()
    client = Client(made["ipv4"], port)

    def names() -> set[str]:
        assert host.process.poll() is None, host.log.read_text()
        try:
            return set(client.names(4))
        except OSError:  # it does not listen on the port yet
            return set()

    until(lambda: names() == {"one", "two"}, "traffic")
    [config] = api.get(f"{BALANCERS}/{made['id']}/configs").json()["data"]
    assert config["port"] == port
