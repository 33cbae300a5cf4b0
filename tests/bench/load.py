"""A closed-loop load of HTTP/1.1 requests over a few keep-alive connections, from one thread.

The load shares two cores with the servers that it measures, so it must cost little. It sends whole requests as
bytes, needs one `recv_into` for most answers, and parses only the status and the length.
"""

import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.bench.errors import BenchError

TIMEOUT = 10.0
"""Seconds without any answer after which a round is given up."""

BUFFER = 512 * 1024
END_OF_HEAD = b"\r\n\r\n"
END_OF_CHUNKS = b"0\r\n\r\n"


@dataclass(slots=True)
class Round:
    """The figures of one round: its length in `seconds`, each answer's latency, and the CPU seconds of the load
    itself."""

    seconds: float
    cpu: float
    latencies: list[float] = field(repr=False)

    @property
    def rate(self) -> float:
        """Requests per second."""
        return len(self.latencies) / self.seconds


class Connection:
    """One keep-alive connection with at most one request in progress."""

    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
        self.socket.settimeout(None)  # reads only ready data: a timeout would cost a poll for each call
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = memoryview(bytearray(BUFFER))
        self.received = 0
        self.expected = 0
        self.chunked = False
        self.sent = 0.0

    def send(self, request: bytes) -> None:
        self.received = self.expected = 0
        self.sent = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Read the available bytes. Returns whether the answer is complete. Raises BenchError for any status
        but 200."""
        count = self.socket.recv_into(self.buffer[self.received :])
        if not count:
            raise BenchError("the server closed a connection")
        self.received += count
        if not self.expected:
            self._read_head()
        if self.chunked:
            done = bytes(self.buffer[self.received - 5 : self.received]) == END_OF_CHUNKS
        else:
            done = 0 < self.expected <= self.received
        if done and bytes(self.buffer[9:12]) != b"200":
            raise BenchError(bytes(self.buffer[: min(self.received, 2000)]).decode(errors="replace"))
        return done

    def _read_head(self) -> None:
        head = bytes(self.buffer[: min(self.received, 4096)])
        end = head.find(END_OF_HEAD)
        if end < 0:
            return
        head = head[:end].lower()
        self.chunked = b"transfer-encoding: chunked" in head
        _, found, length = head.partition(b"content-length:")
        self.expected = end + len(END_OF_HEAD) + (int(length.split(b"\r\n", 1)[0]) if found else 0)


def run(port: int, requests: Iterator[bytes], seconds: float, connections: int = 16) -> Round:
    """Send `requests` to 127.0.0.1:`port` for `seconds`. Each connection sends its next request after an
    answer.

    There are more connections than server threads, so that no thread idles, whichever worker the kernel gave
    the connections to. Answers that come after the end are awaited but not counted.
    """
    opened = [Connection(port) for _ in range(connections)]
    try:
        return _run({one.socket.fileno(): one for one in opened}, requests, seconds)
    finally:
        for one in opened:
            one.socket.close()


def _run(connections: dict[int, Connection], requests: Iterator[bytes], seconds: float) -> Round:
    latencies: list[float] = []
    poll = select.epoll()
    cpu, start = time.process_time(), time.perf_counter()
    for number, connection in connections.items():
        poll.register(number, select.EPOLLIN)
        connection.send(next(requests))
    waiting = len(connections)
    while waiting:
        ready = poll.poll(TIMEOUT)
        if not ready:
            raise BenchError(f"no answer within {TIMEOUT:.0f} seconds")
        for number, _ in ready:
            connection = connections[number]
            if not connection.receive():
                continue
            now = time.perf_counter()
            if now - start < seconds:
                latencies.append(now - connection.sent)
                connection.send(next(requests))
                continue
            waiting -= 1
            if not latencies:
                # a stall as long as the round: its first answer is all there is to tell of it
                latencies.append(now - connection.sent)
                seconds = now - start
    poll.close()
    return Round(seconds, time.process_time() - cpu, latencies)


def request(method: str, path: str, token: str, body: bytes = b"", x_filter: str = "") -> bytes:
    """The bytes of one request with a bearer token and, if given, a body of JSON or an ``X-Filter`` header."""
    head = (
        f"{method} /v4{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        "Accept: application/json\r\n"
    )
    if x_filter:
        head += f"X-Filter: {x_filter}\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body
