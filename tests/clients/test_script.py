"""The program of docs/clients.md works, even if answers are refused for a while or lost."""

import http.client
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

import pytest

from tests.clients.conftest import run
from tests.tours.pages import PAGES

pytestmark = pytest.mark.clients

(PROGRAM,) = re.findall(r"^```python\n(.*?)^```", PAGES["docs/clients.md"].read_text(), re.MULTILINE | re.DOTALL)
CREATE, EVENTS = "POST /v4/compute/instances", "GET /v4/account/events"
HOP_BY_HOP = {"connection", "transfer-encoding", "host"}

Fault = Callable[["Proxy", int, bytes], bool]
"""A function of the call's number and the answer's body. It returns whether it has replaced the answer."""


class Proxy(BaseHTTPRequestHandler):
    """A proxy for requests to the server. `faults` change the answers of calls, by method and path."""

    upstream: str
    faults: dict[str, Fault]
    calls: Counter[str]

    def pass_on(self) -> None:
        name = f"{self.command} {urlsplit(self.path).path}"
        self.calls[name] += 1
        sent = self.rfile.read(int(self.headers["Content-Length"] or 0))
        headers = {key: value for key, value in self.headers.items() if key.lower() not in HOP_BY_HOP}
        connection = http.client.HTTPConnection(self.upstream)
        connection.request(self.command, self.path, sent, headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if (fault := self.faults.get(name)) and fault(self, self.calls[name], body):
            return
        self.answer(answer.status, body)

    do_GET = do_POST = do_DELETE = pass_on  # noqa: N815 - the names of the standard library

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: object) -> None:
        """Log nothing: the test checks `calls`."""


@contextmanager
def proxy(url: str, **faults: Fault) -> Iterator[tuple[str, Counter[str]]]:
    """Serve a proxy in front of the server. Yields its address and the counts of its calls."""
    named = {{"create": CREATE, "events": EVENTS}[name]: fault for name, fault in faults.items()}
    calls = Counter[str]()
    handler = type("Handler", (Proxy,), {"upstream": urlsplit(url).netloc, "faults": named, "calls": calls})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        serving = Thread(target=listening.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{listening.server_address[1]}", calls
        finally:
            listening.shutdown()
            serving.join()


@pytest.fixture
def works(server, tmp_path) -> Callable[[str], None]:
    def check(url: str) -> None:
        (tmp_path / "program.py").write_text(PROGRAM)
        done = run("python", tmp_path / "program.py", URL=url, TOKEN=server.token)
        assert done.returncode == 0, done.stdout
        assert re.fullmatch(r"running\n\['script-\w{8}'\]\n", done.stdout), done.stdout

    return check


def refused(status: int) -> Fault:
    """Return a fault that refuses the first two calls, as for a used-up limit or a database that does not
    answer."""

    def fault(handler: Proxy, number: int, body: bytes) -> bool:
        if number <= 2:
            handler.answer(status, b'{"errors": [{"field": null, "reason": "Try again"}]}', Retry_After="1")
        return number <= 2

    return fault


def lost(handler: Proxy, number: int, body: bytes) -> bool:
    """Close the connection before the first answer, after the server has done its work."""
    if number == 1:
        handler.close_connection = True
    return number == 1


def failed(handler: Proxy, number: int, body: bytes) -> bool:
    """Answer without `Retry-After` in place of the server, after the server has done its work."""
    if number == 1:
        handler.answer(503, b'{"errors": [{"field": null, "reason": "Try again"}]}')
    return number == 1


def test_it_works(works, server):
    works(server.url)


@pytest.mark.parametrize("status", [429, 503])
def test_it_waits_as_long_as_it_is_asked_to(works, server, status):
    with proxy(server.url, events=refused(status)) as (url, calls):
        works(url)
    assert calls[EVENTS] > 2


@pytest.mark.parametrize("fault", [lost, failed])
def test_a_create_whose_answer_is_lost_makes_one_instance(works, server, fault):
    """The program prints all instances that it has created: one."""
    with proxy(server.url, create=fault) as (url, calls):
        works(url)
    assert calls[CREATE] == 1
