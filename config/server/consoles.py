"""Consoles in browsers: websockets connected to the console of a machine, for any number of users.

The loop transfers all data, at the pace of the slower side. Blocking calls (the database, and connections to hosts)
run in a few threads. Consoles are opened in other threads than those that watch open consoles, and one host uses at
most a few of them. So a host that does not answer delays no other host.

Messages to the browser: output, as bytes; ``{"state": "open"}`` once the console is open; at last ``{"ended": …,
"again": …}``, the reason as a sentence, and whether a retry may help. If machines of this kind have no console,
``"none": true`` is added. Messages from the browser: input, as bytes; any text as a sign of life.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, TypeVar

from granian.rsgi import ProtocolClosed

from config.server.application import Headers, allow_many_connections

log = logging.getLogger(__name__)

R = TypeVar("R")
OPENING, OPENING_OF_HOST = 16, 4
"""The threads in which consoles are opened, and the maximum of them for one host."""
THREADS = 4
"""The threads for the database."""
MAX_CONSOLES = 1000
"""The maximum number of consoles of a process."""
RENEW_SECONDS = 2.0
"""Seconds between two renewals of the sessions."""
RECHECK_SECONDS = 30.0
"""Seconds between two checks whether the user may still use the console."""
LOST_SECONDS = 120.0
"""Seconds without an answer to that check, such as without a database, after which a console ends."""
ALIVE_SECONDS = 90.0
"""Seconds without a sign of life after which the browser counts as gone. Its page sends one every 20 s."""
SEND_SECONDS = 60.0
"""Seconds that a browser may take to receive a message."""
OCCUPIED_SECONDS = 15.0
"""Seconds for a user to leave a console after being asked to."""
AGAIN_SECONDS = 0.5
PATIENCE_SECONDS = 10.0
"""Seconds that one renewal of the sessions may take."""
STOP_SECONDS = 5.0
"""Seconds within which a stopping process records the ends of its consoles."""
MAX_MESSAGE_BYTES = 64 * 1024
"""The maximum bytes of a message from the browser."""
CLOSED, TEXT = 0, 2
"""The kinds of messages besides bytes."""

TOO_MANY_CONSOLES = "Too many consoles are open. Try again later."
BUSY = "The host of the instance does not answer. Try again later."
HERE_NO_MORE = "The platform does not answer. Try again later."
FAULT = "The console does not work because of an error of the platform. Contact support."
BY_MACHINE = "The console has ended, because the instance is off or boots again."
IDLE = "Nothing was typed for {minutes} minutes."
LEFT = "They left."
LOST = "The browser does not answer any more."
STOPPED = "The server is stopping. Open the console again."
SLOW = "The browser did not accept the output."
TOO_LARGE = "The browser sent too much at once."


class Console(Protocol):
    """The console of a machine. Its descriptor is readable when there is output, and writable when it accepts
    input.

    `compute.drivers.base.Console` fits. config imports no app, and drivers import nothing of the project, so each
    declares the methods that it uses. `config.processes.console_broker` connects them, and there the type checker
    compares the two.
    """

    def fileno(self) -> int: ...

    def read(self) -> bytes: ...

    def write(self, typed: bytes, /) -> int: ...

    def close(self) -> None: ...


class Ended(Exception):
    """The end of a session, or the reason why it does not begin.

    `again`: a retry may help. `none`: machines of this kind have no console.
    """

    def __init__(self, reason: str, again: bool = False, none: bool = False):
        super().__init__(reason)
        self.reason = reason
        self.again = again
        self.none = none


class Occupied(Ended):
    """Another user is at the console. A user who was asked to leave needs a moment."""


class Broker(Protocol):
    """Admits clients and records their sessions. Its calls block, except `is_ticket`."""

    def is_ticket(self, ticket: str) -> bool:
        """Tell whether the signature of a ticket is valid, without a query. Does not block."""

    def admit(self, ticket: str, origin: str) -> tuple[int, str]:
        """Return the id of the ticket's session, and the name of its host. Raises `Ended`."""

    def open(self, session: int) -> Console:
        """Open the console of a session. Raises `Ended`, and `Occupied` while somebody else uses it."""

    def renew(self, sessions: Sequence[int]) -> Mapping[int, str]:
        """Renew the heartbeats of sessions. Return the sessions that must close, with the reason for each."""

    def recheck(self, session: int) -> str:
        """Return why the user may not use the console any more, or an empty string."""

    def leave(self, session: int, outcome: str) -> None:
        """Record the end of a session."""


class Message(Protocol):
    kind: int
    data: Any


class Transport(Protocol):
    """An open websocket."""

    async def receive(self) -> Message: ...

    async def send_bytes(self, data: bytes) -> None: ...

    async def send_str(self, data: str) -> None: ...


class Handshake(Protocol):
    """A requested websocket."""

    async def accept(self) -> Transport: ...

    def close(self, status: int | None = None) -> Any: ...


class Scope(Protocol):
    """The attributes that RSGI provides of a requested websocket."""

    proto: str
    path: str

    @property
    def headers(self) -> Headers: ...


@dataclass(eq=False)
class ConsoleClient:
    """A browser that is connected to a console. `end` is done when it must leave, and its result is the reason."""

    session: int
    host: str
    end: asyncio.Future[Ended]
    checked: float
    asked: float
    typed: float

    def must_end(self, reason: str, again: bool = False) -> None:
        if not self.end.done():
            self.end.set_result(Ended(reason, again))


class Consoles:
    """An application of RSGI for websockets below `prefix`, whose next part is a ticket.

    `idle` are the seconds without input after which a user must leave. `around` is a context manager for each
    blocking call, such as one that closes connections to the database.
    """

    def __init__(
        self, prefix: str, broker: Broker, idle: float, around: Callable[[], AbstractContextManager[None]]
    ):
        self.prefix = prefix
        self.broker = broker
        self.idle = idle
        self.around = around
        self.clients: set[ConsoleClient] = set()
        self.opening: Counter[str] = Counter()
        self.watching: asyncio.Task[None] | None = None
        self.stopping = False
        self.opens = ThreadPoolExecutor(OPENING, "console-opening")
        self.threads = ThreadPoolExecutor(THREADS, "console")

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        allow_many_connections()

    def stop(self) -> None:
        """Close all consoles, with a retry at another process, and accept no new ones."""
        self.stopping = True
        for client in self.clients:
            client.must_end(STOPPED, again=True)

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Record the end of the remaining sessions: the server has closed their sockets, and runs no task again."""
        left = [(client.session, self._recorded(client.session, STOPPED)) for client in self.clients]
        self.clients.clear()
        _, late = wait([recorded for _, recorded in left], STOP_SECONDS)
        for session, recorded in left:
            if recorded in late or recorded.exception() is not None:
                log.error("the end of console session %s cannot be recorded", session)

    async def __rsgi__(self, scope: Scope, handshake: Handshake) -> None:
        ticket = scope.path.removeprefix(self.prefix)
        if not self.broker.is_ticket(ticket):
            handshake.close(403)
            return
        if self.stopping:
            await self._turn_away(handshake, Ended(STOPPED, again=True))
            return
        if len(self.clients) >= MAX_CONSOLES:
            await self._turn_away(handshake, Ended(TOO_MANY_CONSOLES, again=True))
            return
        try:
            session, host = await self._in(
                self.threads, self.broker.admit, ticket, scope.headers.get("origin") or ""
            )
        except Ended as refused:
            await self._turn_away(handshake, refused)
            return
        except Exception:
            log.exception("the ticket of a console cannot be checked")
            await self._turn_away(handshake, Ended(HERE_NO_MORE, again=True))
            return
        now = monotonic()
        client = ConsoleClient(session, host, self.loop.create_future(), now, now, now)
        self.clients.add(client)
        if self.stopping:  # stopped since it was admitted
            client.must_end(STOPPED, again=True)
        if self.watching is None or self.watching.done():
            self.watching = self.loop.create_task(self._watch_clients())
        ended = Ended(STOPPED, again=True)
        try:
            ended = await self._serve(client, handshake)
        finally:
            self.clients.discard(client)
            await self._record(session, ended.reason)

    async def _turn_away(self, handshake: Handshake, refused: Ended) -> None:
        """Send the reason over an open websocket: a browser shows its page nothing of a refused handshake."""
        transport = await handshake.accept()
        await _say(transport, refused)
        handshake.close()

    async def _serve(self, client: ConsoleClient, handshake: Handshake) -> Ended:
        transport = await handshake.accept()
        console = None
        try:
            console = await self._open(client)
            await transport.send_str(json.dumps({"state": "open"}))
            ended = await self._carry(client, console, transport)
        except Ended as refused:
            ended = refused
        except ProtocolClosed:
            ended = Ended(LEFT)
        except Exception:
            log.exception("a console ends because of an error")
            ended = Ended(FAULT)
        finally:
            if console is not None:
                await self._in(self.opens, console.close)
        await _say(transport, ended)
        handshake.close()
        return ended

    async def _open(self, client: ConsoleClient) -> Console:
        """Open the console of a client. Raises `Ended`."""
        until = monotonic() + OCCUPIED_SECONDS
        while True:
            if client.end.done():
                raise client.end.result()
            if self.opening[client.host] >= OPENING_OF_HOST:
                raise Ended(BUSY, again=True)
            self.opening[client.host] += 1
            opened = self.loop.create_task(self._in(self.opens, self.broker.open, client.session))
            opened.add_done_callback(lambda _: self._opened(client.host))
            try:
                return await asyncio.shield(opened)
            except Occupied:
                if monotonic() > until:
                    raise
            except asyncio.CancelledError:
                opened.add_done_callback(self._close_late)
                raise
            await asyncio.sleep(AGAIN_SECONDS)

    def _opened(self, host: str) -> None:
        self.opening[host] -= 1
        if not self.opening[host]:
            del self.opening[host]

    def _close_late(self, opened: "asyncio.Task[Console]") -> None:
        """Close a console that opened after its client had gone."""
        if not opened.cancelled() and opened.exception() is None:
            self.opens.submit(opened.result().close)

    async def _carry(self, client: ConsoleClient, console: Console, transport: Transport) -> Ended:
        """Transfer both directions until one of them ends or the client must leave."""
        tasks = [
            self.loop.create_task(self._show(console, transport)),
            self.loop.create_task(self._type(client, console, transport)),
        ]
        try:
            await asyncio.wait([*tasks, client.end], return_when=asyncio.FIRST_COMPLETED)
            return next(each.result() for each in (client.end, *tasks) if each.done())
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _show(self, console: Console, transport: Transport) -> Ended:
        """Send output to the browser. Reads more only after the browser has received the last message."""
        while True:
            await self._ready(console, self.loop.add_reader, self.loop.remove_reader)
            shown = console.read()
            if not shown:
                return Ended(BY_MACHINE, again=True)
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    await transport.send_bytes(shown)
            except TimeoutError:
                return Ended(SLOW)
            except ProtocolClosed:
                return Ended(LEFT)

    async def _type(self, client: ConsoleClient, console: Console, transport: Transport) -> Ended:
        """Send input to the console. Receives more only after the console has accepted the last message."""
        while True:
            try:
                async with asyncio.timeout(ALIVE_SECONDS):
                    message = await transport.receive()
            except TimeoutError:
                return Ended(LOST)
            except ProtocolClosed:
                return Ended(LEFT)
            if message.kind == CLOSED:
                return Ended(LEFT)
            if message.kind == TEXT:
                continue
            typed: bytes = message.data
            if len(typed) > MAX_MESSAGE_BYTES:
                return Ended(TOO_LARGE)
            client.typed = monotonic()
            while typed := typed[console.write(typed) :]:
                await self._ready(console, self.loop.add_writer, self.loop.remove_writer)

    async def _ready(self, console: Console, add: Callable[..., Any], remove: Callable[[int], Any]) -> None:
        """Wait until the console's descriptor is ready."""
        ready: asyncio.Future[None] = self.loop.create_future()
        descriptor = console.fileno()
        add(descriptor, _note, ready)
        try:
            await ready
        finally:
            remove(descriptor)

    async def _watch_clients(self) -> None:
        """While there are clients, renew their sessions and end those that must close."""
        while self.clients:
            await asyncio.sleep(RENEW_SECONDS)
            now = monotonic()
            for client in self.clients:
                if now - client.typed > self.idle:
                    client.must_end(IDLE.format(minutes=round(self.idle / 60)))
                elif now - client.checked > LOST_SECONDS:
                    client.must_end(HERE_NO_MORE, again=True)
            try:
                async with asyncio.timeout(
                    PATIENCE_SECONDS
                ):  # a database that hangs must not delay the ends by time
                    await self._renew()
            except Exception:  # the next renewal may succeed, and LOST_SECONDS bounds it
                log.exception("the consoles that must close cannot be read")

    async def _renew(self) -> None:
        there = {client.session: client for client in self.clients}
        if there:
            ending = await self._in(self.threads, self.broker.renew, list(there))
            for session, why in ending.items():
                there[session].must_end(why)
        for client in there.values():
            if monotonic() - client.asked < RECHECK_SECONDS or client.end.done():
                continue
            client.asked = monotonic()
            if why := await self._in(self.threads, self.broker.recheck, client.session):
                client.must_end(why)
            client.checked = monotonic()

    async def _record(self, session: int, outcome: str) -> None:
        try:
            await asyncio.wrap_future(self._recorded(session, outcome))
        except Exception:  # a minute later the row itself shows that nobody is there
            log.exception("the end of a console cannot be recorded")

    def _recorded(self, session: int, outcome: str) -> Future[None]:
        return self._submit(self.threads, self.broker.leave, session, outcome)

    async def _in(self, threads: ThreadPoolExecutor, function: Callable[..., R], *arguments: Any) -> R:
        """Return the function's result. The function may block."""
        return await asyncio.wrap_future(self._submit(threads, function, *arguments))

    def _submit(self, threads: ThreadPoolExecutor, function: Callable[..., R], *arguments: Any) -> Future[R]:
        def call() -> R:
            with self.around():
                return function(*arguments)

        return threads.submit(call)


def _note(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)


async def _say(transport: Transport, ended: Ended) -> None:
    """Send the browser the reason of the end, if it is still connected."""
    with suppress(ProtocolClosed, TimeoutError):  # it is gone or too slow
        async with asyncio.timeout(SEND_SECONDS):
            message = {"ended": ended.reason, "again": ended.again}
            await transport.send_str(json.dumps({**message, "none": True} if ended.none else message))
