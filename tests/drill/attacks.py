"""Attacks by one customer or by an anonymous client, with requests that take long to read, look up or receive."""

import gzip
import http.client
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

from tests.drill.client import IMAGE, PASSWORD, REGION
from tests.drill.crowding.attacker import Attack, Attacker
from tests.pictures import scans

SENDERS, PAUSE = 8, 0.6
"""Threads of an attacker, and the seconds that each waits between two requests.

The rate is what RATE_LIMIT_ENDPOINT allows where the drill has not lifted it.
"""
SOCKETS = 300
SLOW_UPLOADS = 32
SCANS, SIDE, MAX_BYTES = 27_300, 4096, 2**20
MEMBER, MEMBERS = 64 * 2**20, 96
"""Bytes of zeros in each part of the bomb, and the number of parts: 6 GB."""


class Silent:
    """A name server that accepts all input, by UDP and TCP, and never answers."""

    def __init__(self) -> None:
        self.udp, self.tcp = socket.socket(type=socket.SOCK_DGRAM), socket.socket()
        self.tcp.bind(("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.udp.bind(("127.0.0.1", self.port))
        self.tcp.listen(1024)

    def close(self) -> None:
        self.udp.close()
        self.tcp.close()


@contextmanager
def repeated(act: Callable[[int], object], senders: int = SENDERS) -> Iterator[None]:
    """Call `act` in `senders` threads again and again, each time with another number. The requests are no
    flood."""
    stopped = threading.Event()

    def send(number: int) -> None:
        while not stopped.wait(PAUSE):
            act(number)
            number += senders

    threads = [threading.Thread(target=send, args=(number,), daemon=True) for number in range(senders)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


@contextmanager
def pictures(attacker: Attacker) -> Iterator[None]:
    """Send progressive JPEGs of 1 MB, 4096 pixels wide and high, with as many scans as fit, and valid ones."""
    client = attacker.made("/account/oauth-clients", {"label": "bomb", "redirect_uri": "https://a.example/"})
    bombs = [scans(SCANS, SIDE)[:MAX_BYTES], scans(80, SIDE)[:MAX_BYTES]]
    path = f"/account/oauth-clients/{client['id']}/thumbnail"
    with repeated(lambda number: _put_picture(attacker, path, bombs[number % 2])):
        yield


def _put_picture(attacker: Attacker, path: str, content: bytes) -> None:
    attacker.ask("PUT", path, content, **{"Content-Type": "image/png"})


@contextmanager
def services(attacker: Attacker) -> Iterator[None]:
    """Create managed services with names whose name server never answers."""
    attacker.made("/account/settings/managed-enable", {})
    body = {"service_type": "tcp", "timeout": 5}
    with repeated(
        lambda number: attacker.ask(
            "POST",
            "/managed/services",
            {**body, "label": f"s{number}", "address": f"h{number}.never.example.com:80"},
        )
    ):
        yield


@contextmanager
def imports(attacker: Attacker) -> Iterator[None]:
    """Import domains from name servers that never answer, and from servers whose names resolve too late."""
    where = (f"127.0.0.1:{attacker.silent}", "ns.never.example.com")

    def act(number: int) -> None:
        body = {"domain": f"h{number}.example.com", "remote_nameserver": where[number % 3 % 2]}
        attacker.ask("POST", "/domains/import", body)

    with repeated(act):
        yield


@contextmanager
def reverse_names(attacker: Attacker) -> Iterator[None]:
    """Set reverse names that are looked up at a name server which never answers."""
    body = {"region": REGION, "type": "g6-nanode-1", "image": IMAGE, "root_pass": PASSWORD, "label": "silent"}
    address = attacker.made("/compute/instances", body)["ipv4"][0]
    path = f"/networking/ips/{address}"
    with repeated(lambda number: attacker.ask("PUT", path, {"rdns": f"h{number}.never.example.com"})):
        yield


@contextmanager
def uploads(attacker: Attacker) -> Iterator[None]:
    """Send a bomb, uploads that stall, and uploads of a byte at a time."""
    bomb = gzip.compress(bytes(MEMBER)) * MEMBERS
    targets = [
        attacker.made("/images/upload", {"label": f"bomb-{number}", "region": REGION})["upload_to"]
        for number in range(SLOW_UPLOADS + 1)
    ]
    heads = []
    for target in targets[1:]:
        host, _, path = target.partition("://")[2].partition("/")
        heads.append((_port_of(host), f"PUT /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000000\r\n\r\n"))
    # first, because an account has few places, and uploads that stall occupy all of them
    _upload(attacker, targets[0], bomb)
    with slowly(attacker, [(port, head.encode() + bomb[:500]) for port, head in heads], dripping=SLOW_UPLOADS // 2):
        yield


def _upload(attacker: Attacker, target: str, content: bytes) -> None:
    parts = urlsplit(target)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    try:
        connection.request("PUT", parts.path, content)
        response = connection.getresponse()
        response.read()
        status = str(response.status)
    except (OSError, http.client.HTTPException):
        status = "0"
    finally:
        connection.close()
    attacker.sent[f"bomb {status}"] += 1


def _port_of(host: str) -> int:
    return int(host.rpartition(":")[2])


@contextmanager
def bodies(attacker: Attacker) -> Iterator[None]:
    """Send forms of 1,000 bytes to /oauth/token, without any token, with a byte now and then, or none."""
    head = (
        b"POST /oauth/token HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\ng"
    )
    with slowly(attacker, [(attacker.port, head)] * SOCKETS, dripping=SOCKETS // 2):
        yield


@contextmanager
def slowly(attacker: Attacker, heads: Sequence[tuple[int, bytes]], dripping: int) -> Iterator[None]:
    """Send these bytes to these ports, each on a new connection, and keep the connections open.

    The first `dripping` of them get another byte each second. A connection that the server closes is replaced.
    """
    stopped = threading.Event()
    with ExitStack() as stack:
        connections = [stack.enter_context(_Slow(attacker.address, *head)) for head in heads]

        def drip() -> None:
            while not stopped.wait(1):
                for each in connections[:dripping]:
                    each.send(b"x")

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()
            attacker.sent["slow connections"] += sum(each.begun for each in connections)


class _Slow:
    """A connection from the address `source` that never completes its request."""

    def __init__(self, source: str, port: int, head: bytes):
        self.source, self.port, self.head, self.begun = source, port, head, 0

    def __enter__(self) -> "_Slow":
        self._begin()
        return self

    def __exit__(self, *exc: object) -> None:
        self.connection.close()

    def _begin(self) -> None:
        self.connection = socket.create_connection(("127.0.0.1", self.port), 60, (self.source, 0))
        self.connection.sendall(self.head)
        self.begun += 1

    def send(self, data: bytes) -> None:
        try:
            self.connection.sendall(data)
        except OSError:
            self.connection.close()
            with suppress(OSError):  # retried with the next byte
                self._begin()


ATTACKS: dict[str, Attack] = {
    "pictures": pictures,
    "services": services,
    "imports": imports,
    "reverse names": reverse_names,
    "uploads": uploads,
    "bodies": bodies,
}
