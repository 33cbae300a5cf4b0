"""Django behind RSGI: a request's body comes in on the event loop, and only then does the handler have its turn.

Plain reads of the API are answered in the loop's own thread, one after the other: none waits for another thread's
turn at the interpreter. Whatever may wait or take long is answered in the threads of a lane (`config.server.lanes`,
docs/decisions/slow-clients.md). Sockets are read and written by the server's threads in the meantime.
"""

import asyncio
import errno
import logging
import resource
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from io import BytesIO
from typing import IO, Any, Protocol

from django.conf import settings
from django.core.exceptions import RequestDataTooBig

from config.api import reasons
from config.api.responses import REFUSED, error_response
from config.draining import drain
from config.server import bodies
from config.server.answers import Answered, Answers, Sending
from config.server.lanes import SWITCH, Lane, Routes, TurnedAway, is_filtered, subject_of
from config.server.periodic import BackgroundService

log = logging.getLogger(__name__)

OPEN_FILES = 65_536
"""Open files, thus connections, that a process asks the system for, where the limit of its user lets it."""
PROTOCOLS = {"1": "HTTP/1.0", "1.1": "HTTP/1.1", "2": "HTTP/2"}
UNREADABLE = "\xff"
"""The value of a header that is not ASCII: nothing that any header could mean."""
AMBIGUOUS = "ambiguous"
"""In place of the variable of a header with an underscore, which another header's could not be told from."""
TOO_SLOW = "The body did not come in time"
CUT_OFF = "The body is shorter than its Content-Length"

Handler = Callable[[dict[str, Any], Any], Any]


class Headers(Protocol):
    """A request's headers. Those with bytes beyond ASCII are among the names and not among the items."""

    def __len__(self) -> int: ...

    def __contains__(self, name: str, /) -> bool: ...

    def get(self, name: str, /) -> str | None: ...

    def items(self) -> Iterable[tuple[str, str]]: ...

    def __iter__(self) -> Iterator[str]: ...


class Scope(Protocol):
    """What RSGI says of a request before its body. Addresses are ``192.0.2.1:80`` and ``[2001:db8::1]:80``."""

    proto: str
    http_version: str
    method: str
    scheme: str
    path: str
    query_string: str
    authority: str | None
    client: str
    server: str

    @property
    def headers(self) -> Headers: ...


class Exchange(bodies.Receiving, Sending, Protocol):
    """A request under way: its body, and where its answer goes."""


class TooLarge:
    """In place of a body that was not read: whoever would read it answers that it is too large."""

    def read(self, size: int = -1) -> bytes:
        raise RequestDataTooBig

    readline = read


class _Started:
    """What WSGI's start_response is told."""

    __slots__ = ("headers", "status")
    status: int
    headers: list[tuple[str, str]]

    def __call__(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        self.status = int(status[:3])
        self.headers = headers


class Websockets(Protocol):
    """An application of RSGI for websockets below its prefix."""

    prefix: str

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None: ...

    def stop(self) -> None: ...

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None: ...

    async def __rsgi__(self, scope: Any, handshake: Any, /) -> None: ...


class Application:
    """A WSGI handler as an application of RSGI. Bodies of more than `largest` bytes are left to it unread.

    `routes` tell which of `lanes` answers a request. Without them the loop answers all.
    What begins with one of `prefixes` is the affair of another application, and websockets that of `websockets`.
    The services in `background` run as long as the process serves.
    """

    def __init__(
        self,
        handler: Handler,
        largest: int,
        routes: Routes | None = None,
        lanes: Mapping[str, Lane] | None = None,
        prefixes: "Mapping[str, Application] | None" = None,
        websockets: Websockets | None = None,
        background: Sequence[BackgroundService] = (),
    ):
        self.handler = handler
        self.largest = largest
        self.routes = routes
        self.lanes = lanes or {}
        self.prefixes = prefixes or {}
        self.websockets = websockets
        self.background = background
        self.pace = bodies.Pace(settings.BODY_TIMEOUT, settings.BODY_RATE)
        self.answers = Answers()
        self.context = copy_context()
        """One for all requests, as a thread has: what libraries keep by context would be made anew for each."""
        self.names: dict[str, str] = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        for application in self.prefixes.values():
            application.__rsgi_init__(loop)
        if self.websockets is not None:
            self.websockets.__rsgi_init__(loop)
            drain.told.append(self.websockets.stop)
        for each in self.background:
            each.start(loop)
        if self.lanes:
            sys.setswitchinterval(SWITCH)
        drain.prepare(loop, settings.DRAIN_SECONDS)
        allow_many_connections()

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        """The process has answered its last request."""
        for each in self.background:
            each.stop()
        if self.websockets is not None:
            self.websockets.__rsgi_del__(loop)

    async def __rsgi__(self, scope: Scope, exchange: Exchange) -> None:
        if scope.proto == "ws":
            await self._websocket(scope, exchange)
            return
        for prefix, application in self.prefixes.items():
            if scope.path.startswith(prefix):
                await application.__rsgi__(scope, exchange)
                return
        headers = scope.headers
        given = headers.get("content-length")
        if given is None or given == "0":
            if "transfer-encoding" not in headers and (
                scope.http_version != "2" or scope.method in ("GET", "HEAD")
            ):
                await self._answer(scope, headers, exchange, BytesIO())
                return
            await self._without_length(scope, headers, exchange)
            return
        length = int(given)
        if length > self.largest:
            await self._answer(scope, headers, exchange, TooLarge())
            await bodies.discard(bodies.Pieces(exchange, self.pace))
            return
        try:
            body = await bodies.whole(exchange, length, self.pace)
        except TimeoutError:
            log.info("%s from %s: its body of %d bytes did not come in time", scope.method, scope.client, length)
            refuse(exchange, TOO_SLOW, 408)
            return
        except bodies.Incomplete:
            refuse(exchange, CUT_OFF, 400)  # for who has ended the sending alone, and still reads
            return
        except OSError as error:
            no_room(exchange, error)
            return
        with BytesIO(body) if isinstance(body, bytes) else body as file:
            await self._answer(scope, headers, exchange, file)

    async def _websocket(self, scope: Scope, handshake: Any) -> None:
        if self.websockets is not None and scope.path.startswith(self.websockets.prefix):
            await self.websockets.__rsgi__(scope, handshake)
        else:
            handshake.close(404)

    async def _without_length(self, scope: Scope, headers: Headers, exchange: Exchange) -> None:
        """Answer a request of which only its body tells whether it has one, and how long it is.

        It is read as far as the API reads any; the handler judges what it got (`config.middleware.with_length`).
        """
        pieces = bodies.Pieces(exchange, self.pace)
        try:
            body = await bodies.up_to(pieces, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        except TimeoutError:
            refuse(exchange, TOO_SLOW, 408)
            return
        except OSError as error:
            no_room(exchange, error)
            return
        with body:
            await self._answer(scope, headers, exchange, body)
        await bodies.discard(pieces)

    async def _answer(self, scope: Scope, headers: Headers, exchange: Exchange, body: IO[bytes] | TooLarge) -> None:
        """Have the handler answer: on the loop, or in the lane that the request belongs to."""
        environ = self._environ(scope, headers, body)
        lane = self.routes and self.routes.lane_of(scope.method, scope.path, is_filtered(environ))
        if lane:
            try:
                answered = await self.lanes[lane].run(subject_of(environ), self._handled, environ)
            except TurnedAway as refusal:
                answered = self._on_loop(environ | {REFUSED: refusal.status})
        else:
            answered = self._on_loop(environ)
        await self.answers.send(exchange, scope.client, environ, answered)

    def _on_loop(self, environ: dict[str, Any]) -> Answered:
        """Have the handler answer, as in a thread without an event loop: Django refuses to block one that runs."""
        asyncio._set_running_loop(None)
        try:
            return self.context.run(self._handled, environ)
        finally:
            asyncio._set_running_loop(self.loop)

    def _handled(self, environ: dict[str, Any]) -> Answered:
        started = _Started()
        response = self.handler(environ, started)
        try:
            content = b"".join(response)
        finally:
            response.close()
        if drain.begun:
            started.headers.append(("Connection", "close"))  # a proxy keeps it for no other request
        return Answered(started.status, started.headers, content)

    def _environ(self, scope: Scope, headers: Headers, body: IO[bytes] | TooLarge) -> dict[str, Any]:
        """The WSGI environment (PEP 3333) of a request."""
        server, _, port = scope.server.rpartition(":")
        environ: dict[str, Any] = {
            "SCRIPT_NAME": "",
            "REQUEST_METHOD": scope.method,
            "PATH_INFO": scope.path.encode().decode("latin-1"),
            "QUERY_STRING": scope.query_string,
            "SERVER_PROTOCOL": PROTOCOLS.get(scope.http_version, "HTTP/1.1"),
            "SERVER_NAME": server.strip("[]"),
            "SERVER_PORT": port,
            "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": scope.scheme,
            "wsgi.input": body,
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
        }
        names, seen = self.names, 0
        for name, value in headers.items():
            key = names.get(name) or self._name(name)
            if key in environ:
                environ[key] += f"; {value}" if name == "cookie" else f",{value}"
            else:
                environ[key] = value
                seen += 1
        if seen != len(headers):
            for name in headers:
                environ.setdefault(self._name(name), UNREADABLE)
        environ.pop(AMBIGUOUS, None)
        if "HTTP_HOST" not in environ:
            environ["HTTP_HOST"] = scope.authority or ""
        return environ

    def _name(self, name: str) -> str:
        """The variable of a header. Those of frequent headers are kept."""
        found = self.names.get(name) or (AMBIGUOUS if "_" in name else f"HTTP_{name.upper().replace('-', '_')}")
        if len(self.names) < 1000:
            self.names[name] = found
        return found


def refuse(exchange: Exchange, reason: str, status: int, *more: tuple[str, str]) -> None:
    """Answer with the one error body, and close the connection: the rest of the body may still come."""
    response = error_response([{"field": None, "reason": reason}], status)
    exchange.response_bytes(status, [*response.items(), ("Connection", "close"), *more], response.content)


def no_room(exchange: Exchange, error: OSError) -> None:
    """Answer a request whose body cannot be kept until it has come: the disk of temporary files is full."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        raise error
    log.error("a body cannot be kept: %s", error)
    refuse(exchange, reasons.NO_ROOM, 503)


def allow_many_connections() -> None:
    """Raise this process's own limit of open files: many systems start with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
