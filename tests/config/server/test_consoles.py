"""Consoles over websockets: both directions, what ends them, and isolation from one that hangs."""

import asyncio
import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from granian.rsgi import ProtocolClosed

from compute.drivers.consoles import SocketConsole
from config.server import consoles
from config.server.application import Application
from config.server.consoles import Consoles, Ended, Occupied
from tests.config.server.exchanges import Headers

SECONDS = 300
"""How long anything may take. Only a test that fails reaches it."""

BUFFER_BYTES = 65_536
"""The buffer in bytes of a socket between a console and its machine. The kernel doubles it for its own
overhead."""


class Broker:
    """A broker that admits any ticket of letters. The session's number is the ticket's length. Its end is
    recorded.

    Hosts in `hanging` do not answer until `answer` is set. `occupied` is the number of attempts that find the
    console in use.
    """

    def __init__(self) -> None:
        self.machines: dict[int, socket.socket] = {}
        self.left: dict[int, str] = {}
        self.to_end: dict[int, str] = {}
        self.refused: dict[int, str] = {}
        self.hanging: set[str] = set()
        self.answer = threading.Event()
        self.occupied = 0
        self.renewals = 0

    def is_ticket(self, ticket: str) -> bool:
        return ticket.isalpha()

    def admit(self, ticket: str, origin: str) -> tuple[int, str]:
        if origin != "https://here.example":
            raise Ended("no")
        return len(ticket), ticket[0]

    def open(self, session: int) -> SocketConsole:
        assert threading.current_thread().name.startswith("console-opening"), "it may block"
        if "h" in self.hanging and session >= 100:
            assert self.answer.wait(SECONDS)
            raise Ended("It does not answer.", again=True)
        if self.occupied:
            self.occupied -= 1
            raise Occupied("Somebody is there.", again=True)
        end, self.machines[session] = socket.socketpair()
        for each in (end, self.machines[session]):
            # the buffer that a kernel adds differs from machine to machine, by its settings and its memory
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        return SocketConsole(end)

    def renew(self, sessions: Sequence[int]) -> Mapping[int, str]:
        self.renewals += 1
        return {each: why for each, why in self.to_end.items() if each in sessions}

    def recheck(self, session: int) -> str:
        return self.refused.get(session, "")

    def leave(self, session: int, outcome: str) -> None:
        self.left[session] = outcome


class Browser:
    """A browser's end of a websocket. `reads` tells whether it reads what the server sends."""

    def __init__(self, *, reads: bool = True) -> None:
        self.sent: asyncio.Queue[SimpleNamespace] = asyncio.Queue()
        self.shown = b""
        self.messages: list[dict[str, Any]] = []
        self.reads = asyncio.Event()
        if reads:
            self.reads.set()
        self.status: int | None = None
        self.gone = False

    # what the server does

    async def accept(self) -> "Browser":
        return self

    def close(self, status: int | None = None) -> None:
        self.status = status or 1000

    async def receive(self) -> SimpleNamespace:
        if self.gone:
            raise ProtocolClosed
        return await self.sent.get()

    async def send_bytes(self, data: bytes) -> None:
        await self.reads.wait()
        self.shown += data

    async def send_str(self, data: str) -> None:
        if self.gone:
            raise ProtocolClosed
        self.messages.append(json.loads(data))

    # what the person does

    def type(self, keys: bytes) -> None:
        self.sent.put_nowait(SimpleNamespace(kind=1, data=keys))

    def leave(self) -> None:
        self.sent.put_nowait(SimpleNamespace(kind=consoles.CLOSED, data=None))

    def sign_of_life(self) -> None:
        self.sent.put_nowait(SimpleNamespace(kind=consoles.TEXT, data="alive"))

    async def sees(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(SECONDS):
            while not condition():
                await asyncio.sleep(0.005)

    async def is_open(self) -> None:
        await self.sees(lambda: self.messages)
        assert self.messages == [{"state": "open"}]


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker()
    yield broker
    broker.answer.set()
    for machine in broker.machines.values():
        machine.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    """Renew and retry often, and wait long for a console that is in use."""
    monkeypatch.setattr(consoles, "RENEW_SECONDS", 0.01)
    monkeypatch.setattr(consoles, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(consoles, "OCCUPIED_SECONDS", SECONDS)


def scope(ticket: str, origin: str = "https://here.example") -> SimpleNamespace:
    return SimpleNamespace(proto="ws", path=f"/consoles/{ticket}", headers=Headers(("origin", origin)))


class Served:
    """The application, on an event loop of its own."""

    def __init__(self, broker: Broker, idle: float) -> None:
        self.application = Consoles("/consoles/", broker, idle, nullcontext)
        self.application.__rsgi_init__(asyncio.get_running_loop())
        self.tasks: list[asyncio.Task[None]] = []

    def come(self, browser: Browser, ticket: str = "abc") -> asyncio.Task[None]:
        task = asyncio.create_task(self.application.__rsgi__(scope(ticket), browser))
        self.tasks.append(task)
        return task


def serve(broker: Broker, scene: Callable[[Served], Coroutine[Any, Any, None]], idle: float = SECONDS) -> None:
    async def run() -> None:
        served = Served(broker, idle)
        async with asyncio.timeout(SECONDS):
            await scene(served)
            broker.answer.set()
            await asyncio.gather(*served.tasks)
        if served.application.watching is not None:
            await served.application.watching
        served.application.opens.shutdown()
        served.application.threads.shutdown()
        assert not served.application.clients
        assert not served.application.opening

    asyncio.run(run())


def test_both_directions_are_carried_until_the_browser_leaves(broker):
    async def scene(served: Served) -> None:
        browser = Browser()
        served.come(browser)
        await browser.is_open()
        broker.machines[3].sendall(b"login: ")
        await browser.sees(lambda: browser.shown == b"login: ")
        browser.sign_of_life()
        browser.type(b"ro")
        browser.type(b"ot\r")
        typed = b""
        while typed != b"root\r":
            typed += await asyncio.to_thread(broker.machines[3].recv, 100)
        browser.leave()

    serve(broker, scene)
    assert broker.left == {3: "They left."}
    assert broker.machines[3].recv(1) == b"", "it was closed"


def test_the_end_of_the_machine_is_reported_and_a_retry_is_offered(broker):
    async def scene(served: Served) -> None:
        browser = Browser()
        served.come(browser)
        await browser.is_open()
        broker.machines[3].sendall(b"bye")
        broker.machines[3].shutdown(socket.SHUT_RDWR)
        await browser.sees(lambda: browser.status)
        assert browser.shown == b"bye"
        assert browser.messages[-1] == {"ended": consoles.BY_MACHINE, "again": True}

    serve(broker, scene)
    assert broker.left == {3: consoles.BY_MACHINE}


@pytest.mark.parametrize(("ticket", "origin"), [("123", "https://here.example"), ("", "https://here.example")])
def test_a_malformed_ticket_is_refused_without_a_query(broker, ticket, origin):
    broker.admit = None

    async def scene(served: Served) -> None:
        browser = Browser()
        await served.application.__rsgi__(scope(ticket, origin), browser)
        assert browser.status == 403
        assert not browser.messages

    serve(broker, scene)


@pytest.mark.parametrize("origin", ["", "https://elsewhere.example"])
def test_a_refused_visitor_gets_the_reason(broker, origin):
    async def scene(served: Served) -> None:
        browser = Browser()
        await served.application.__rsgi__(scope("abc", origin), browser)
        assert browser.messages == [{"ended": "no", "again": False}]

    serve(broker, scene)
    assert not broker.left


@pytest.mark.parametrize("way", ["to_end", "refused"])
def test_sessions_that_must_end_are_closed(broker, monkeypatch, way):
    monkeypatch.setattr(consoles, "RECHECK_SECONDS", 0)

    async def scene(served: Served) -> None:
        first, second = Browser(), Browser()
        served.come(first)
        served.come(second, "abcd")
        await first.is_open()
        await second.is_open()
        getattr(broker, way)[3] = "Go."
        await first.sees(lambda: first.status)
        assert first.messages[-1] == {"ended": "Go.", "again": False}
        before = broker.renewals
        await second.sees(lambda: broker.renewals > before + 3)
        assert second.status is None
        second.leave()

    serve(broker, scene)
    assert broker.left == {3: "Go.", 4: "They left."}


def test_an_idle_session_is_closed(broker):
    async def scene(served: Served) -> None:
        browser = Browser()
        served.come(browser)
        await browser.sees(lambda: browser.status)
        assert browser.messages[-1]["ended"].startswith("Nothing was typed")

    serve(broker, scene, idle=0.05)


def test_a_browser_without_a_sign_of_life_is_gone(broker, monkeypatch):
    monkeypatch.setattr(consoles, "ALIVE_SECONDS", 0.05)

    async def scene(served: Served) -> None:
        served.come(Browser())

    serve(broker, scene)
    assert broker.left == {3: consoles.LOST}


def test_a_browser_that_broke_off_is_recorded(broker):
    async def scene(served: Served) -> None:
        browser = Browser()
        browser.gone = True
        served.come(browser)

    serve(broker, scene)
    assert broker.left == {3: consoles.LEFT}


def test_nothing_is_read_for_a_browser_that_takes_nothing(broker, monkeypatch):
    async def scene(served: Served) -> None:
        browser = Browser(reads=False)
        served.come(browser)
        await browser.is_open()
        broker.machines[3].setblocking(False)
        written = 0
        # the buffers of the sockets are full, plus one more piece
        async with asyncio.timeout(SECONDS):
            for _ in range(50):
                try:
                    written += broker.machines[3].send(bytes(65536))
                except BlockingIOError:
                    await asyncio.sleep(0.005)
        assert written < 2 * 1024**2
        browser.reads.set()
        await browser.sees(lambda: len(browser.shown) == written)
        browser.leave()

    serve(broker, scene)


def test_a_browser_that_is_too_slow_is_cut_off(broker, monkeypatch):
    monkeypatch.setattr(consoles, "SEND_SECONDS", 0.05)

    async def scene(served: Served) -> None:
        browser = Browser(reads=False)
        served.come(browser)
        await browser.is_open()
        broker.machines[3].sendall(b"x")

    serve(broker, scene)
    assert broker.left == {3: consoles.SLOW}


def test_a_machine_that_takes_nothing_holds_only_its_own_browser_up(broker):
    async def scene(served: Served) -> None:
        stuck, other = Browser(), Browser()
        served.come(stuck)
        served.come(other, "abcd")
        await stuck.is_open()
        await other.is_open()
        for _ in range(100):
            stuck.type(bytes(consoles.MAX_MESSAGE_BYTES))
        other.type(b"x")
        assert await asyncio.to_thread(broker.machines[4].recv, 10) == b"x"
        await other.sees(lambda: stuck.sent.qsize() < 100)
        assert stuck.sent.qsize() > 50, "they are taken only as fast as the machine takes them"
        broker.to_end[3] = "Go."
        await stuck.sees(lambda: stuck.status)
        other.leave()

    serve(broker, scene)


def test_a_message_that_is_too_large_ends_it(broker):
    async def scene(served: Served) -> None:
        browser = Browser()
        served.come(browser)
        browser.type(bytes(consoles.MAX_MESSAGE_BYTES + 1))

    serve(broker, scene)
    assert broker.left == {3: consoles.TOO_LARGE}


def test_a_host_that_hangs_holds_nobody_of_other_hosts_up(broker):
    """Threads admit the browsers in any order, so the host's limit may refuse any of them."""
    broker.hanging.add("h")

    async def scene(served: Served) -> None:
        browsers = [Browser() for _ in range(consoles.OPENING_OF_HOST + 3)]
        for number, browser in enumerate(browsers):
            served.come(browser, "h" * (100 + number))
        await browsers[0].sees(lambda: sum(bool(browser.messages) for browser in browsers) == 3)
        other = Browser()
        served.come(other)
        await other.is_open()
        other.leave()
        assert sum(bool(browser.messages) for browser in browsers) == 3, (
            "the host's other consoles still wait for it"
        )

    serve(broker, scene)
    assert Counter(broker.left.values()) == {
        consoles.BUSY: 3,
        "It does not answer.": consoles.OPENING_OF_HOST,
        consoles.LEFT: 1,
    }


def test_a_new_session_waits_until_the_old_one_has_left(broker):
    broker.occupied = 3

    async def scene(served: Served) -> None:
        browser = Browser()
        served.come(browser)
        await browser.is_open()
        browser.leave()

    serve(broker, scene)


def test_a_console_that_stays_occupied_is_reported(broker, monkeypatch):
    monkeypatch.setattr(consoles, "OCCUPIED_SECONDS", 0)
    broker.occupied = 1000

    async def scene(served: Served) -> None:
        browser = Browser()
        served.come(browser)
        await browser.sees(lambda: browser.status)
        assert browser.messages == [{"ended": "Somebody is there.", "again": True}]

    serve(broker, scene)


def test_more_than_a_process_carries_are_turned_away(broker, monkeypatch):
    monkeypatch.setattr(consoles, "MAX_CONSOLES", 1)

    async def scene(served: Served) -> None:
        first, second = Browser(), Browser()
        served.come(first)
        await first.is_open()
        await served.application.__rsgi__(scope("abcd"), second)
        assert second.messages == [{"ended": consoles.TOO_MANY_CONSOLES, "again": True}]
        first.leave()

    serve(broker, scene)


def test_while_the_database_is_away_consoles_go_on_for_a_while(broker, monkeypatch, caplog):
    def renew(sessions: Sequence[int]) -> Mapping[int, str]:
        raise OSError("no database")

    async def scene(served: Served) -> None:
        browser = Browser()
        served.come(browser)
        await browser.is_open()
        monkeypatch.setattr(broker, "renew", renew)
        await browser.sees(lambda: "no database" in caplog.text)
        broker.machines[3].sendall(b"still")
        await browser.sees(lambda: browser.shown == b"still")
        monkeypatch.setattr(consoles, "LOST_SECONDS", 0)
        await browser.sees(lambda: browser.status)
        assert browser.messages[-1] == {"ended": consoles.HERE_NO_MORE, "again": True}

    serve(broker, scene)


def test_a_fault_of_the_broker_is_logged_and_reported(broker, monkeypatch, caplog):
    def admit(ticket: str, origin: str) -> tuple[int, str]:
        raise OSError("no database")

    async def scene(served: Served) -> None:
        browser = Browser()
        monkeypatch.setattr(broker, "admit", admit)
        await served.application.__rsgi__(scope("abc"), browser)
        assert browser.messages == [{"ended": consoles.HERE_NO_MORE, "again": True}]

    serve(broker, scene)
    assert "no database" in caplog.text


def test_a_process_that_is_to_stop_sends_everybody_away_and_lets_nobody_in(broker):
    sent_away = {"ended": consoles.STOPPED, "again": True}

    async def scene(served: Served) -> None:
        there, late = Browser(), Browser()
        session = served.come(there)
        await there.is_open()
        served.application.stop()
        await session
        assert there.messages == [{"state": "open"}, sent_away]
        await served.come(late, "abcd")
        assert late.messages == [sent_away]

    serve(broker, scene)
    assert broker.left == {3: consoles.STOPPED}


def test_sessions_open_at_shutdown_are_recorded(broker, caplog):
    """The loop of a server in this state runs no more tasks."""

    async def scene(served: Served) -> None:
        browsers = [Browser(), Browser()]
        for number, browser in enumerate(browsers):
            served.come(browser, "a" * (3 + number))
        for browser in browsers:
            await browser.is_open()
        leave, broker.leave = broker.leave, failing_for(4, broker.leave)
        served.application.__rsgi_del__(asyncio.get_running_loop())
        broker.leave = leave
        assert broker.left == {3: consoles.STOPPED}
        for browser in browsers:
            browser.leave()

    serve(broker, scene)
    assert "the end of console session 4 cannot be recorded" in caplog.text


def failing_for(failing: int, leave: Callable[[int, str], None]) -> Callable[[int, str], None]:
    def leave_or_fail(session: int, outcome: str) -> None:
        if session == failing:
            raise OSError("no database")
        leave(session, outcome)

    return leave_or_fail


def test_a_database_that_hangs_does_not_delay_the_end_of_sessions(broker, monkeypatch):
    monkeypatch.setattr(consoles, "PATIENCE_SECONDS", 0.01)

    def renew(sessions: Sequence[int]) -> Mapping[int, str]:
        assert broker.answer.wait(SECONDS)
        return {}

    broker.renew = renew

    async def scene(served: Served) -> None:
        browser = Browser()
        session = served.come(browser)
        await browser.is_open()
        await browser.sees(lambda: len(browser.messages) > 1)
        assert browser.messages[1] == {"ended": consoles.IDLE.format(minutes=0), "again": False}
        broker.answer.set()
        await session

    serve(broker, scene, idle=0.2)


@pytest.mark.parametrize(("path", "status"), [("/v4/account", 404), ("/consoles/1", 403)])
def test_an_application_leaves_websockets_to_theirs(broker, path, status):
    async def scene() -> None:
        consoles = Consoles("/consoles/", broker, 1, nullcontext)
        application = Application(lambda environ, start: None, 0, websockets=consoles)
        application.__rsgi_init__(asyncio.get_running_loop())
        browser = Browser()
        await application.__rsgi__(SimpleNamespace(proto="ws", path=path, headers=Headers()), browser)
        assert browser.status == status
        bare = Browser()
        await Application(lambda environ, start: None, 0).__rsgi__(SimpleNamespace(proto="ws", path=path), bare)
        assert bare.status == 404

    asyncio.run(scene())
