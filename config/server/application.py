"""Django behind RSGI. The event loop first reads a request's body, and then the handler answers.

The loop's own thread answers plain reads of the API, one after the other. So a plain read never waits until another
thread releases the interpreter. Requests that may wait or take long are answered in the threads of a lane
(`config.server.lanes`, docs/decisions/slow-clients.md). Meanwhile the server's threads read and write sockets.
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
from config.processes.draining import drain
from config.server import bodies
from config.server.answers import Answered, Answers, Sending
from config.server.lanes import SWITCH, Lane, Routes, TurnedAway, is_filtered, subject_of
from config.server.periodic import BackgroundService

log = logging.getLogger(__name__)

OPEN_FILES = 65_536
"""The number of open files, thus connections, that a process requests, if the limit of its user allows it."""
PROTOCOLS = {"1": "HTTP/1.0", "1.1": "HTTP/1.1", "2": "HTTP/2"}
UNREADABLE = "\xff"
"""The value of a header that is not ASCII. No header has this value."""
AMBIGUOUS = "ambiguous"
"""Replaces the variable of a header with an underscore, which could be another header's variable."""
TOO_SLOW = "The body did not come in time"
CUT_OFF = "The body is shorter than its Content-Length"

Handler = Callable[[dict[str, Any], Any], Any]


class Headers(Protocol):
    """A request's headers. The names include headers with bytes beyond ASCII, the items do not."""

    def __len__(self) -> int: ...

    def __contains__(self, name: str, /) -> bool: ...

    def get(self, name: str, /) -> str | None: ...

    def items(self) -> Iterable[tuple[str, str]]: ...

    def __iter__(self) -> Iterator[str]: ...


class Scope(Protocol):
    """The attributes that RSGI provides of a request before its body.

    Addresses are ``192.0.2.1:80`` and ``[2001:db8::1]:80``.
    """

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
    """A request in progress: its body, and the destination of its answer."""


class TooLarge:
    """A placeholder for a body that was not read. A view that reads it answers that it is too large."""

    def read(self, size: int = -1) -> bytes:
        raise RequestDataTooBig

    readline = read


class _Started:
    """The `start_response` of WSGI. It stores its arguments."""

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
    """A WSGI handler as an application of RSGI. Bodies of more than `largest` bytes are not read.

    `routes` tell which of `lanes` answers a request. Without them the loop answers all. Another application answers
    the paths that begin with one of `prefixes`. `websockets` answers websockets. The services in `background` run
    as long as the process serves.
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
        """One context for all requests, as a thread has one: libraries would create their values again in each new
        context.
        """
        self.names: dict[str, str] = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        for application in self.prefixes.values():
            application.__rsgi_init__(loop)
        if self.websockets is not None:
            self.websockets.__rsgi_init__(loop)
            drain.callbacks.append(self.websockets.stop)
        for each in self.background:
            each.start(loop)
        if self.lanes:
            sys.setswitchinterval(SWITCH)
        drain.prepare(loop, settings.DRAIN_SECONDS)
        allow_many_connections()

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Stop the services: the process has answered its last request."""
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
            refuse(exchange, CUT_OFF, 400)  # for a client that only closed its sending side, and still reads
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
        """Answer a request whose length, or whether it has a body at all, only the body shows.

        The body is read up to the maximum of the API. The handler judges the result
        (`config.web.middleware.with_length`).
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
        """Call the handler: on the loop, or in the request's lane."""
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
        """Call the handler as in a thread without an event loop: Django refuses to block a running loop."""
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
            started.headers.append(("Connection", "close"))  # a proxy sends no other request over it
        return Answered(started.status, started.headers, content)

    def _environ(self, scope: Scope, headers: Headers, body: IO[bytes] | TooLarge) -> dict[str, Any]:
        """Return the WSGI environment (PEP 3333) of a request."""
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
        """Return the variable of a header. The variables of frequent headers are cached."""
        found = self.names.get(name) or (AMBIGUOUS if "_" in name else f"HTTP_{name.upper().replace('-', '_')}")
        if len(self.names) < 1000:
            self.names[name] = found
        return found


def refuse(exchange: Exchange, reason: str, status: int, *more: tuple[str, str]) -> None:
    """Answer with the one error body, and close the connection: the rest of the body may still come."""
    response = error_response([{"field": None, "reason": reason}], status)
    exchange.response_bytes(status, [*response.items(), ("Connection", "close"), *more], response.content)


def no_room(exchange: Exchange, error: OSError) -> None:
    """Answer a request whose body cannot be stored: the disk of temporary files is full."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        raise error
    log.error("the body of a request cannot be stored: %s", error)
    refuse(exchange, reasons.NO_ROOM, 503)


def allow_many_connections() -> None:
    """Raise this process's own limit of open files: many systems start with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
