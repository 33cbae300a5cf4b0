"""An open-loop load of HTTP/1.1 requests: each request is sent at its time, whatever the earlier ones wait for.

The load shares the processors with the service, so it must cost little. It has one thread, sends prepared bytes,
and reads only the status and the length of an answer. It imports no part of the service.
"""

import json
import select
import socket
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

TIMEOUT_SECONDS = 60.0
"""Seconds after the last request. Requests without an answer by then count as not answered."""
IDLE = 24
"""Kept connections. They take turns, so that each web process has some of them."""
PIECE = 256 * 1024
HEAD = 16 * 1024
END_OF_HEAD = b"\r\n\r\n"
END_OF_CHUNKS = b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """The status of a request, 0 without an answer, and the seconds from when the request was due."""

    seconds: float
    status: int


class _Connection:
    """A connection of `source`, an address of this machine, to the server at `port`."""

    def __init__(self, port: int, source: str):
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.bind((source, 0))
        self.socket.connect_ex(("127.0.0.1", port))
        self.number = self.socket.fileno()
        self.answers = 0
        self._forget()

    def _forget(self) -> None:
        self.request, self.unsent, self.due = b"", memoryview(b""), 0.0
        self.head, self.tail, self.received = b"", b"", 0
        self.length: int | None = None

    def begin(self, request: bytes, due: float) -> None:
        self._forget()
        self.request, self.unsent, self.due = request, memoryview(request), due

    def write(self) -> None:
        """Send as many bytes as the socket takes."""
        try:
            while self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent) :]
        except (BlockingIOError, ConnectionError, OSError):
            return  # not connected yet, or full; a connection that has ended is readable

    def read(self) -> bool:
        """Read the available bytes. Returns False if the server has closed the connection."""
        while True:
            try:
                piece = self.socket.recv(PIECE)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not piece:
                return False
            self.received += len(piece)
            self.tail = (self.tail + piece)[-len(END_OF_CHUNKS) :]
            if self.length is None and len(self.head) < HEAD:
                self._read_head(piece)

    def _read_head(self, piece: bytes) -> None:
        self.head += piece
        end = self.head.find(END_OF_HEAD)
        if end < 0:
            return
        self.head = self.head[:end].lower()
        _, found, length = self.head.partition(b"\r\ncontent-length:")
        if found:
            self.length = end + len(END_OF_HEAD) + int(length.split(b"\r\n", 1)[0])
        elif b"\r\ntransfer-encoding: chunked" in self.head:
            self.length = 0
        else:  # such as a 204
            self.length = end + len(END_OF_HEAD)

    @property
    def complete(self) -> bool:
        if self.length is None:
            return False
        return self.tail == END_OF_CHUNKS if self.length == 0 else self.received >= self.length

    @property
    def status(self) -> int:
        return int(self.head[9:12]) if self.complete else 0

    @property
    def lasts(self) -> bool:
        return b"\r\nconnection: close" not in self.head


class Load:
    """A sender of requests to the server at `port` from the address `source`. It keeps its connections."""

    def __init__(self, port: int, source: str = "127.0.0.1", idle: int = 0):
        self.port, self.source, self.keep = port, source, idle
        self.poll = select.epoll()
        self.all: dict[int, _Connection] = {}
        self.idle: deque[_Connection] = deque()
        self.found: list[Answer] = []

    def send(self, requests: Iterator[bytes], every: float, seconds: float) -> list[Answer]:
        """Send requests, `every` seconds apart, for `seconds` or until there are no more. Return all answers."""
        self.found = []
        while len(self.idle) < self.keep:
            self.idle.append(self._open())
        begun = due = time.perf_counter()
        coming = next(requests, None)
        while True:
            now = time.perf_counter()
            while coming is not None and due <= now:
                self._begin(coming, due)
                due += every
                coming = next(requests, None) if due < begun + seconds else None
            if coming is None and (not self.waiting or now > due + TIMEOUT_SECONDS):
                break
            for number, _ in self.poll.poll(max(0.0, due - now) if coming is not None else 1.0):
                if number in self.all:
                    self._advance(self.all[number])
        for each in self.waiting:
            self._end(each, 0)
        return self.found

    @property
    def waiting(self) -> list[_Connection]:
        """The connections whose answer is not complete."""
        return [each for each in self.all.values() if each.request]

    def close(self) -> None:
        for each in list(self.all.values()):
            self._close(each)
        self.poll.close()

    def _open(self) -> _Connection:
        made = _Connection(self.port, self.source)
        self.all[made.number] = made
        self.poll.register(made.number, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
        return made

    def _begin(self, request: bytes, due: float) -> None:
        connection = self.idle.popleft() if self.idle else self._open()
        connection.begin(request, due)
        connection.write()

    def _advance(self, connection: _Connection) -> None:
        connection.write()
        lasts = connection.read()
        if not connection.request:
            if not lasts:
                self._close(connection)
        elif connection.complete:
            self._end(connection, connection.status)
        elif not lasts and connection.answers and not connection.received:
            # The server closed a connection that had waited, while the request was on its way.
            self._close(connection)
            again = self._open()
            again.begin(connection.request, connection.due)
        elif not lasts:
            self._end(connection, 0)

    def _end(self, connection: _Connection, status: int) -> None:
        self.found.append(Answer(time.perf_counter() - connection.due, status))
        if status and connection.lasts:
            connection.begin(b"", 0.0)
            connection.answers += 1
            self.idle.append(connection)
        else:
            self._close(connection)

    def _close(self, connection: _Connection) -> None:
        del self.all[connection.number]
        if connection in self.idle:
            self.idle.remove(connection)
        connection.socket.close()


def request(method: str, path: str, body: bytes | dict | None = None, **headers: str) -> bytes:
    """Return the bytes of one request. A dict is sent as JSON. The argument ``X_Filter`` is the header X-Filter."""
    content = json.dumps(body).encode() if isinstance(body, dict) else body
    sent = {"Host": "127.0.0.1", **{name.replace("_", "-"): value for name, value in headers.items()}}
    if isinstance(body, dict):
        sent["Content-Type"] = "application/json"
    if content is not None:
        sent["Content-Length"] = str(len(content))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
    return "\r\n".join(lines).encode() + END_OF_HEAD + (content or b"")


def api(token: str, method: str, path: str, body: dict | None = None, **headers: str) -> bytes:
    """Return the bytes of one request to the API."""
    return request(method, f"/v4{path}", body, Authorization=f"Bearer {token}", **headers)
