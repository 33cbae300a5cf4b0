"""Consoles in browsers: websockets whose other end is the console of a machine, by as many as like to look.

All carrying is done on the loop, at the pace of the slower side. What blocks (the database, and a host that has to
be reached) has its turn in a few threads: those in which consoles are opened are not those that look after open
ones, and one host has no more than a few of them, so that a host that does not answer holds nobody else up.

To the browser: what is printed, as bytes; ``{"state": "open"}`` once the console is open; at last ``{"ended": …,
"again": …}``, the reason as a sentence, and whether another try may help. If machines of this kind have no console,
``"none": true`` is added. From it: what is typed, as bytes; any text as a sign of life.
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
"""Threads in which consoles are opened, and how many of them one host may have."""
THREADS = 4
"""For the database."""
MAX_CONSOLES = 1000
"""Consoles of a process."""
RENEW_SECONDS = 2.0
"""Seconds between two renewals of the sessions."""
RECHECK_SECONDS = 30.0
"""Seconds after which it is asked again whether somebody may be there."""
LOST_SECONDS = 120.0
"""Seconds without an answer to that, as while there is no database, after which a console ends."""
ALIVE_SECONDS = 90.0
"""Seconds without a sign of life after which the browser is gone. Its page gives one every 20 s."""
SEND_SECONDS = 60.0
"""Seconds that a browser may take for a message."""
OCCUPIED_SECONDS = 15.0
"""Seconds for somebody who was asked to leave a console to do so."""
AGAIN_SECONDS = 0.5
PATIENCE_SECONDS = 10.0
"""Seconds that one look at what has to end may take."""
STOP_SECONDS = 5.0
"""Seconds within which a process that stops records the ends of its consoles."""
MAX_MESSAGE_BYTES = 64 * 1024
"""Bytes of a message from the browser, at most."""
CLOSED, TEXT = 0, 2
"""Kinds of messages, beside bytes."""

TOO_MANY_CONSOLES = "Too many consoles are open: try again in a while."
BUSY = "Its host does not answer in time: try again in a while."
HERE_NO_MORE = "The platform does not answer: try again in a while."
FAULT = "The console does not work, which is the platform's fault: tell its support."
BY_MACHINE = "The console has ended: the instance is off, or boots again."
IDLE = "Nothing was typed for {minutes} minutes."
LEFT = "They left."
LOST = "The browser was not heard of any more."
STOPPED = "The server stops: come again."
SLOW = "The browser did not take what was shown."
TOO_LARGE = "The browser sent too much at once."


class Console(Protocol):
    """The console of a machine. Its descriptor is readable when output is there, and writable when input is taken.

    `compute.drivers.base.Console` fits. config imports no app, and drivers import nothing of ours, so each declares
    the methods that it uses. `config.console_broker` connects them, where the type checker compares the two.
    """

    def fileno(self) -> int: ...

    def read(self) -> bytes: ...

    def write(self, typed: bytes, /) -> int: ...

    def close(self) -> None: ...


class Ended(Exception):
    """The end of a session, or the reason for which it does not begin.

    `again`: another try may help. `none`: machines of this kind have no console.
    """

    def __init__(self, reason: str, again: bool = False, none: bool = False):
        super().__init__(reason)
        self.reason = reason
        self.again = again
        self.none = none


class Occupied(Ended):
    """Somebody is at the console. Those who were asked to leave it need a moment."""


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
    """A websocket that is asked for."""

    async def accept(self) -> Transport: ...

    def close(self, status: int | None = None) -> Any: ...


class Scope(Protocol):
    """What RSGI says of a websocket that is asked for."""

    proto: str
    path: str

    @property
    def headers(self) -> Headers: ...


@dataclass(eq=False)
class ConsoleClient:
    """A browser that is connected to a console. `end` is done when it must leave; its result is the reason."""

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

    `idle` are the seconds without typing after which somebody has to leave. `around` is what each call that blocks
    is made in, such as one that gives back connections to the database.
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
        """Send everybody away, who may come again to another process, and let nobody in any more."""
        self.stopping = True
        for client in self.clients:
            client.must_end(STOPPED, again=True)

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Record the end of who is there yet: the server has closed their sockets, and runs no task again."""
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
            log.exception("a ticket for a console cannot be looked up")
            await self._turn_away(handshake, Ended(HERE_NO_MORE, again=True))
            return
        now = monotonic()
        client = ConsoleClient(session, host, self.loop.create_future(), now, now, now)
        self.clients.add(client)
        if self.stopping:  # since it was let in
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
        """Say why: a browser's page is not told anything of a handshake that was refused."""
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
            log.exception("a console ends by a fault")
            ended = Ended(FAULT)
        finally:
            if console is not None:
                await self._in(self.opens, console.close)
        await _say(transport, ended)
        handshake.close()
        return ended

    async def _open(self, client: ConsoleClient) -> Console:
        """Raises `Ended`."""
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
        """Close a console that nobody waits for any more."""
        if not opened.cancelled() and opened.exception() is None:
            self.opens.submit(opened.result().close)

    async def _carry(self, client: ConsoleClient, console: Console, transport: Transport) -> Ended:
        """Carry both directions until one of them ends or the client must leave."""
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
        """Nothing more is read while the browser has not taken what was."""
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
        """Nothing more is taken from the browser while the console has not taken what was."""
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
                async with asyncio.timeout(PATIENCE_SECONDS):  # a database that hangs holds up no end by time
                    await self._renew()
            except Exception:  # whatever it was: the next look may do better, and LOST_SECONDS bounds it
                log.exception("it cannot be looked up which consoles have to end")

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
        except Exception:  # the row says by itself, a minute later, that nobody is there
            log.exception("the end of a console cannot be recorded")

    def _recorded(self, session: int, outcome: str) -> Future[None]:
        return self._submit(self.threads, self.broker.leave, session, outcome)

    async def _in(self, threads: ThreadPoolExecutor, function: Callable[..., R], *arguments: Any) -> R:
        """The function's result, which may block."""
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
    """Tell the browser how it ended, where it is still there."""
    with suppress(ProtocolClosed, TimeoutError):  # it is gone, or too slow to be told
        async with asyncio.timeout(SEND_SECONDS):
            told = {"ended": ended.reason, "again": ended.again}
            await transport.send_str(json.dumps({**told, "none": True} if ended.none else told))
