"""A request on its way from the server to the handler: its headers, its body, and slow clients."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import RequestDataTooBig

from config.processes.draining import drain
from config.server import bodies
from config.server.application import Application
from config.server.bodies import Pace
from tests.config.server.exchanges import Answer, Exchange, Headers

MAX_BODY_BYTES = 1_000_000


class Handler:
    """A WSGI application that echoes the body, and keeps the environments of its requests."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Answer:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()  # Django would refuse to work
        self.seen.append(environ)
        try:
            body = environ["wsgi.input"].read()
        except RequestDataTooBig:
            body = b"too large"
        start_response("200 OK", [("X-Kind", "echo")])
        return Answer(body)


def send(
    exchange: Exchange, *headers: tuple[str, str], http: str = "1.1", handler: Handler | None = None
) -> dict[str, Any] | None:
    """Pass the request to the application. Returns the last environment of its handler, or None without a call."""
    handler = handler or Handler()
    scope = SimpleNamespace(
        proto="http",
        http_version=http, method="POST", scheme="http", path="/caf\xe9", query_string="a=%C3%A9", authority=None,
        client="[2001:db8::7]:5000", server="127.0.0.1:8000", headers=Headers(("host", "here"), *headers),
    )  # fmt: skip

    async def served() -> None:
        application = Application(handler, MAX_BODY_BYTES)
        application.__rsgi_init__(asyncio.get_running_loop())
        await application.__rsgi__(scope, exchange)

    asyncio.run(served())
    return handler.seen[-1] if handler.seen else None


@pytest.fixture
def impatient(settings):
    settings.BODY_TIMEOUT, settings.BODY_RATE = 0.01, 1e9


def test_the_handler_gets_the_environment_of_wsgi():
    seen = send(
        Exchange(), ("cookie", "a=1"), ("cookie", "b=2"), ("accept", "x"), ("accept", "y"), ("content-type", "t"),
        ("x-filter", '{"label": "é"}'), ("x_forwarded_for", "192.0.2.66"), ("x-forwarded-for", "192.0.2.1"),
    )  # fmt: skip
    assert seen is not None
    assert seen["PATH_INFO"].encode("latin-1").decode() == "/café"
    assert (seen["REMOTE_ADDR"], seen["SERVER_NAME"], seen["SERVER_PORT"]) == ("2001:db8::7", "127.0.0.1", "8000")
    assert (seen["HTTP_COOKIE"], seen["HTTP_ACCEPT"], seen["CONTENT_TYPE"]) == ("a=1; b=2", "x,y", "t")
    assert seen["HTTP_X_FILTER"] == "\xff", "an empty filter would find everything"
    assert "192.0.2.66" not in str(seen)


@pytest.mark.parametrize(
    "length", [5, bodies.MAX_SMALL_BYTES + 1, bodies.IN_MEMORY + 1], ids=["small", "larger", "on disk"]
)
def test_a_body_is_handed_over_when_it_has_come(length):
    sent = [b"x" * (length - 3), b"yz", b"!"]
    exchange = Exchange(sent)
    assert send(exchange, ("content-length", str(length)))
    assert exchange.answer is not None
    status, headers, body = exchange.answer
    assert (status, headers["X-Kind"], body) == (200, "echo", b"".join(sent))


@pytest.mark.parametrize("length", [1000, bodies.MAX_SMALL_BYTES + 1])
def test_a_body_that_stands_still_ends_without_a_turn(length, impatient):
    exchange = Exchange([b"g"], stalls=True)
    assert send(exchange, ("content-length", str(length))) is None
    assert exchange.answer is not None
    status, headers, body = exchange.answer
    assert (status, headers["Connection"]) == (408, "close")
    assert body == b'{"errors":[{"field":null,"reason":"The body did not come in time"}]}'


def test_a_body_that_is_cut_off_has_no_turn():
    exchange = Exchange([b"half"])
    assert send(exchange, ("content-length", str(bodies.MAX_SMALL_BYTES + 1))) is None
    assert exchange.answer is not None
    assert exchange.answer[0] == 400


@pytest.mark.parametrize("stalls", [False, True])
def test_a_body_that_is_too_large_is_answered_unread_and_then_thrown_away(stalls, impatient):
    exchange = Exchange([b"x" * MAX_BODY_BYTES, b"x"], stalls)
    assert send(exchange, ("content-length", str(MAX_BODY_BYTES + 1)))
    assert exchange.answer == (200, {"X-Kind": "echo"}, b"too large")
    assert exchange.taken == MAX_BODY_BYTES + 1


def test_it_is_thrown_away_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(bodies, "MAX_DISCARDED_BYTES", 10)
    exchange = Exchange([b"12345678"] * 4)
    send(exchange, ("content-length", str(MAX_BODY_BYTES + 1)))
    assert exchange.taken == 16


def test_a_body_without_its_length_is_handed_over_as_one_that_came_in_chunks():
    exchange = Exchange([b"in ", b"chunks"])
    seen = send(exchange, ("transfer-encoding", "chunked"))
    assert seen is not None
    assert seen["HTTP_TRANSFER_ENCODING"] == "chunked"  # the middleware checks this value
    assert exchange.answer is not None
    assert exchange.answer[2] == b"in chunks"


def test_a_body_without_its_length_is_kept_up_to_a_bound_and_then_thrown_away(settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    exchange = Exchange([b"12345678"] * 4)
    send(exchange, ("transfer-encoding", "chunked"))
    assert exchange.answer is not None
    assert exchange.answer[2] == b"12345678" * 2
    assert exchange.taken == 32


def test_a_body_without_its_length_that_stands_still_has_no_turn(impatient):
    exchange = Exchange([b"{"], stalls=True)
    assert send(exchange, ("transfer-encoding", "chunked")) is None
    assert exchange.answer is not None
    assert exchange.answer[0] == 408


@pytest.mark.parametrize("pieces", [[], [b"x", b"y"]])
def test_in_http_2_nothing_but_the_body_says_whether_there_is_one(pieces):
    exchange = Exchange(pieces)
    assert send(exchange, http="2")
    assert exchange.answer is not None
    assert exchange.answer[2] == b"".join(pieces)


def test_bytes_buy_time():
    pace = Pace(grace=20, rate=1024)
    assert (pace.seconds(0), pace.seconds(10 * 1024)) == (20, 30)


def test_each_answer_closes_its_connection_once_the_process_is_to_stop(monkeypatch):
    kept, closed = Exchange(), Exchange()
    send(kept)
    monkeypatch.setattr(drain, "begun", True)
    send(closed)
    assert [each.answer and each.answer[1].get("Connection") for each in (kept, closed)] == [None, "close"]
