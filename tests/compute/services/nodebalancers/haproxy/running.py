"""A real HAProxy, and small servers that it balances."""

import contextlib
import http.client
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from tests.ports import free_port

TIMEOUT_SECONDS = 240.0
"""Seconds after which an expected event counts as missing."""


def needs_haproxy() -> None:
    """Skip the test if HAProxy is not installed. In CI it is required."""
    if shutil.which("haproxy") is None:
        assert os.environ.get("CI") != "true", "HAProxy is not installed"
        pytest.skip("HAProxy is not installed")


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for the condition."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come about"
        time.sleep(0.02)


class Proxy:
    """HAProxy as an operator runs it: a master process that a signal reloads."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.log = (folder / "log").open("w+")
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        command = ["haproxy", "-W", "-f", str(self.folder / "haproxy.cfg")]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, start_new_session=True)
        until((self.folder / "haproxy.sock").exists, "HAProxy")

    def settled(self) -> bool:
        """Tell whether all processes from before the last reload have stopped accepting connections."""
        assert self.process is not None
        workers = psutil.Process(self.process.pid).children()
        return sum(map(_listens, workers)) <= 1

    @property
    def reload(self) -> str:
        assert self.process is not None
        return f"kill -USR2 {self.process.pid}"

    def stop(self) -> None:
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(TIMEOUT_SECONDS)
        self.log.close()


def _listens(process: psutil.Process) -> bool:
    try:
        return any(each.status == psutil.CONN_LISTEN for each in process.net_connections("tcp"))
    except psutil.NoSuchProcess:
        return False


@contextmanager
def proxy() -> Iterator[Proxy]:
    """A folder for the exporter, with a HAProxy that is not started yet. The paths of sockets must be short."""
    with tempfile.TemporaryDirectory(prefix="lb") as folder:
        made = Proxy(Path(folder))
        try:
            yield made
        finally:
            made.stop()


class WebServer(ThreadingHTTPServer):
    """A server that answers with its name. After it is closed, no other server gets its port.

    `status` and `reason` are the status line, `ok` the body of a check, `headers` the headers of the last
    request. While `answering` is not set, it is silent.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, name: str, address: str):
        super().__init__((address, free_port(address)), _Handler)
        self.name = name
        self.status = 200
        self.reason = b"fine"
        self.ok = "it's fine"
        self.checks = 0
        self.headers: Mapping[str, str] = {}
        self.answering = threading.Event()
        self.answering.set()
        self.node = f"{address}:{self.server_port}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self.answering.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: WebServer
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        # a check closes its connection early, by a reset
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        check = self.path.startswith("/health")
        self.server.checks += check
        if not check:
            self.server.headers = self.headers
        self.server.answering.wait()
        body = (self.server.ok if check else self.server.name).encode()
        head = b"HTTP/1.1 %d %s\r\nContent-Length: %d\r\n\r\n" % (self.server.status, self.server.reason, len(body))
        self.wfile.write(head + body)

    def log_message(self, *args) -> None:
        pass


class LineServer:
    """A TCP server without HTTP. It sends each connection its name, and keeps the first line that it receives."""

    def __init__(self, name: str, address: str):
        self.name = name
        self.listener = socket.create_server((address, free_port(address)))
        self.node = f"{address}:{self.listener.getsockname()[1]}"
        self.heard: list[bytes] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        # a check closes its connection without data
        with connection, contextlib.suppress(ConnectionError):
            self.heard.append(connection.makefile().readline().encode())
            connection.sendall(f"{self.name}\n".encode())

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Client:
    """A client of one port of a load balancer, with a new connection for each call."""

    def __init__(self, address: str, port: int, tls: ssl.SSLContext | None = None):
        self.address, self.port, self.tls = address, port, tls
        self.cookie = ""

    def get(self, source: str = "127.0.0.1") -> tuple[int, str]:
        """Return status and body of one request, which sends the cookie of earlier ones."""
        where = {"timeout": TIMEOUT_SECONDS, "source_address": (source, 0)}
        if self.tls is None:
            connection = http.client.HTTPConnection(self.address, self.port, **where)
        else:
            connection = http.client.HTTPSConnection(self.address, self.port, context=self.tls, **where)
        try:
            connection.request("GET", "/", headers={"Cookie": self.cookie} if self.cookie else {})
            answer = connection.getresponse()
            self.cookie = (answer.getheader("Set-Cookie") or self.cookie).partition(";")[0]
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    @contextmanager
    def begin(self, source: str) -> Iterator[socket.socket]:
        """Yield a connection on which a request was sent. Its answer is not read. One connection may be
        rejected first."""
        with socket.socket() as connection:
            connection.settimeout(TIMEOUT_SECONDS)
            connection.bind((source, 0))
            with contextlib.suppress(ConnectionError):
                connection.connect((self.address, self.port))
                connection.sendall(b"GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
            yield connection

    def names(self, number: int, source: str = "127.0.0.1") -> list[str]:
        """Return the names of the servers that answer `number` requests."""
        found = []
        for _ in range(number):
            status, body = self.get(source)
            found.append(body if status == 200 else str(status))
        return found

    def line(self, text: str = "hello") -> str:
        """Send a line to a `LineServer`, and return its answer."""
        with socket.create_connection((self.address, self.port), TIMEOUT_SECONDS) as connection:
            connection.sendall(f"{text}\n".encode())
            return connection.makefile().readline().strip()
