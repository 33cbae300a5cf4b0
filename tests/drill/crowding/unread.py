"""Answers that nobody reads."""

import resource
import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import psutil

from tests.drill.crowding.attacker import Attacker, playing
from tests.drill.crowding.load import request
from tests.drill.installation import families

POLL_SECONDS = 0.1
KEPT_FREE = 500
"""The files that the drill may open in addition to these connections."""
SMALL = 2048
"""Bytes of a receive buffer: the kernel rounds them up to its minimum."""
PACE = 500
"""Connections that are made in a second. Thousands at once would be a flood, whatever they ask for."""
FIRST = 24
"""Requests that read the document before the attack: enough that each web process has answered one."""


def document(attacker: Attacker) -> AbstractContextManager[None]:
    """Open connections that ask for ``/openapi.json`` and read nothing. Measure the growth of the web processes.

    Each process writes the document once, at its first request, in two seconds of processor time. This time has
    nothing to do with unread answers, so each process writes the document before the attack.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(attacker.form.unread, max(0, most - KEPT_FREE))
    sent = request("GET", "/openapi.json")
    for _ in range(FIRST):
        urllib.request.urlopen(f"http://127.0.0.1:{attacker.port}/openapi.json", timeout=60).read()

    def play(stopped: threading.Event) -> None:
        with ExitStack() as stack, _grown(attacker):
            connections = []
            while len(connections) < wanted and not stopped.is_set():
                connections.append(stack.enter_context(_asked(attacker, sent)))
                stopped.wait(1 / PACE)
            stopped.wait()
            for each in connections:
                attacker.sent[_status(each)] += 1

    return playing(play)


def _asked(attacker: Attacker, sent: bytes) -> socket.socket:
    """Return a connection that has sent the request."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    made.settimeout(5)
    made.bind((attacker.address, 0))
    try:
        made.connect(("127.0.0.1", attacker.port))
        made.sendall(sent)
    except OSError:  # the server accepts no more; such a connection has no answer
        made.close()
    return made


def _status(connection: socket.socket) -> str:
    """Return the status of the answer, or 0 without an answer or if the server has closed the connection."""
    try:
        connection.setblocking(False)
        return connection.recv(12)[9:].decode() or "0"
    except OSError:
        return "0"


@contextmanager
def _grown(attacker: Attacker) -> Iterator[None]:
    """Measure the largest growth of the web processes' memory during the block."""
    webs = families([attacker.web])
    before, most, ended = _memory(webs), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not ended.wait(POLL_SECONDS):
            most = max(most, _memory(webs))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        attacker.sent["MB of memory"] += max(0, most - before) // 2**20


def _memory(processes: list[psutil.Process]) -> int:
    return sum(each.memory_info().rss for each in processes)
