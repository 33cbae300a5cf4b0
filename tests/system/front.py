"""The HAProxy of docs/deploy in front of real processes. Only paths, ports and users differ."""

import http.client
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

from tests.certificates import certificate, new_key, pem
from tests.ports import free_port
from tests.system.conftest import ROOT, Fleet, kill
from tests.tours.pages import replaced
from tests.waiting import wait_for

NAME = "cloud.example.com"
TIMEOUT_SECONDS = 300
"""Seconds within which a request is answered on any machine."""
RUNNING = "2"
"""The state of a server that HAProxy sends requests to."""


class Granian:
    """A web or stream process of a fleet, on a port of its own, which can be stopped and started again."""

    def __init__(self, fleet: Fleet, application: str):
        self.fleet, self.application, self.port = fleet, application, free_port()
        self.start()

    def start(self) -> None:
        log = (self.fleet.state / "fleet.log").open("ab")
        self.process = subprocess.Popen(
            [
                sys.executable, "-m", "granian", "--interface", "rsgi", "--http", "1", "--workers", "2",
                # As in the samples. Without it, granian waits for ever for a worker that misses the signal to stop.
                "--workers-kill-timeout", "100",
                "--host", "127.0.0.1", "--port", str(self.port), f"config.{self.application}:application",
            ],
            cwd=ROOT, env=self.fleet.env, start_new_session=True, stdout=log, stderr=log,
        )  # fmt: skip
        self.fleet.others.append(self.process)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(TIMEOUT_SECONDS) == 0
        self.fleet.others.remove(self.process)


class Front:
    """HAProxy with the sample's configuration. `state` is the folder of its files."""

    def __init__(self, state: Path, web: list[Granian], stream: Granian):
        self.state, self.tls = state, free_port()
        key = new_key()
        self.ca = certificate(key, NAME, NAME)
        (state / "cloud.pem").write_text(self.ca + pem(key))
        configuration = replaced(
            (ROOT / "docs" / "deploy" / "haproxy.cfg").read_text(),
            {
                "    user haproxy\n    group haproxy\n": f"    stats socket {state}/haproxy.sock\n",
                "    maxconn 20000\n": "    maxconn 1000\n",  # for users who may not open as many files
                "log /dev/log local0": "log stdout format raw local0",
                "bind :80\n": f"bind 127.0.0.1:{free_port()}\n",
                "bind :443": f"bind 127.0.0.1:{self.tls}",
                "/etc/haproxy/certs/cloud.example.com.pem": str(state / "cloud.pem"),
                "web1 127.0.0.1:8000": f"web1 127.0.0.1:{web[0].port}",
                "web2 127.0.0.2:8000": f"web2 127.0.0.1:{web[1].port}",
                "stream1 127.0.0.1:8001": f"stream1 127.0.0.1:{stream.port}",
            },
        )
        (state / "haproxy.cfg").write_text(configuration)
        log = (state / "haproxy.log").open("ab")
        self.process = subprocess.Popen(
            [haproxy(), "-db", "-f", str(state / "haproxy.cfg")], stdout=log, stderr=log, start_new_session=True
        )

    def ask(self, command: str) -> str:
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(f"{self.state}/haproxy.sock")
            control.sendall(f"{command}\n".encode())
            return b"".join(iter(lambda: control.recv(65536), b"")).decode()

    def sends_to(self, backend: str) -> bool:
        """Tell whether HAProxy sends requests to all servers of the backend."""
        assert self.process.poll() is None, (self.state / "haproxy.log").read_text()
        if not (self.state / "haproxy.sock").exists():
            return False
        rows = [row.split() for row in self.ask(f"show servers state {backend}").splitlines()[2:] if row]
        return bool(rows) and all(row[5] == RUNNING for row in rows)

    def requests_of(self, backend: str) -> int:
        """Return the number of requests that the backend got."""
        header, *rows = (line.split(",") for line in self.ask("show stat").splitlines() if line)
        [row] = [row for row in rows if row[:2] == [backend, "BACKEND"]]
        return int(row[header.index("req_tot")])

    def connection(self) -> http.client.HTTPSConnection:
        """Return a client's connection, for many requests."""
        context = ssl.create_default_context(cadata=self.ca)
        connection = http.client.HTTPSConnection(NAME, self.tls, timeout=TIMEOUT_SECONDS, context=context)
        connection._create_connection = lambda address, *more: socket.create_connection(
            ("127.0.0.1", self.tls), *more
        )
        return connection

    def stop(self) -> None:
        kill(self.process)
        sys.stdout.write((self.state / "haproxy.log").read_text()[-5_000:])


def haproxy() -> str:
    found = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin")
    assert found
    return found


def wait_until_sent_to(front: Front, *backends: str) -> None:
    for backend in backends:
        wait_for(lambda name=backend: front.sends_to(name))
