"""Providers to sign in with: a real one in a process of its own, and a forged one that tests control."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
import requests
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from accounts import openid
from config.environment.openid import OpenID
from tests.oidc_provider import PASSWORD

ROOT = Path(__file__).resolve().parents[2]
SITE = "http://testserver"
OUR_SECRET = "what-we-tell-the-provider"
BACK = f"{SITE}/login/external/callback"
TIMEOUT_SECONDS = 120.0
"""Seconds to wait for an answer that is immediate, on a busy machine."""


@pytest.fixture(scope="session")
def provider_process(tmp_path_factory) -> Iterator[OpenID]:
    """The real provider, started when a test first needs it."""
    command = [sys.executable, "-m", "tests.oidc_provider", str(tmp_path_factory.mktemp("provider")), BACK]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        answer = json.loads(process.stdout.readline())
        yield OpenID(**answer, name="Example ID", timeout=TIMEOUT_SECONDS)
    finally:
        process.communicate()  # it ends with its input


@pytest.fixture
def provider(provider_process, settings) -> OpenID:
    """Let people sign in with the real provider."""
    openid.forget()
    settings.SITE_URL, settings.OPENID = SITE, provider_process
    return provider_process


def sign_in_there(url: str, person: str) -> str:
    """Sign in at the real provider, as a person in a browser. Returns the path that it redirects the browser
    to."""
    with requests.Session() as browser:
        page = browser.get(url)
        assert page.status_code == 200, page.text
        form = {
            "username": person,
            "password": PASSWORD,
            "csrfmiddlewaretoken": browser.cookies["provider_csrf"],
            "next": dict(parse_qsl(urlsplit(page.url).query))["next"],
        }
        answer = browser.post(page.url, data=form, allow_redirects=False)
        answer = browser.get(requests.compat.urljoin(page.url, answer.headers["Location"]), allow_redirects=False)
    return path_of(answer.headers["Location"])


def path_of(url: str) -> str:
    """Return the path and query of an address of ours."""
    assert url.startswith(f"{BACK}?"), url
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


@cache
def key(name: str, number: int = 1) -> RSAKey:
    """Return a key with that name. Another number gives another key. Keys are cached, because making them takes
    long."""
    return RSAKey.generate_key(2048, {"kid": name, "use": "sig", "alg": "RS256"})


class Forger:
    """A provider of which everything can be changed: its documents, its claims and its signatures.

    `claims` override those of a good ID token. None removes a claim. `answers` replace the status and body of a
    path. Set `stall` to hold an answer back until `release` is set.
    """

    def __init__(self):
        self.keys = [key("one")]
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {"alg": "RS256", "kid": "one"}
        self.document: dict[str, Any] = {}
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.asked: list[str] = []
        self.forms: list[dict[str, list[str]]] = []
        self.nonces: dict[str, str] = {}
        self.stall: str | None = None
        self.release = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        self.config = OpenID(self.issuer, "our-id", OUR_SECRET, name="Forged ID", timeout=TIMEOUT_SECONDS)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        forger = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                forger.answer(self, urlsplit(self.path).path, None)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                forger.answer(self, self.path, parse_qs(body))

            def log_message(self, *args):
                pass

        return Handler

    def answer(self, handler: BaseHTTPRequestHandler, path: str, form: dict[str, list[str]] | None) -> None:
        self.asked.append(path)
        if form is not None:
            self.forms.append(form)
        if path == self.stall:
            # byte by byte, like a server that blocks a client forever
            while not self.release.wait(0.02):
                try:
                    handler.wfile.write(b"H")
                except OSError:
                    return
            return
        status, body = self.answers.get(path) or (200, json.dumps(self.body(path, form)).encode())
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        if status in (301, 302):
            handler.send_header("Location", body.decode())
        handler.end_headers()
        handler.wfile.write(body)

    def body(self, path: str, form: dict[str, list[str]] | None) -> dict[str, Any]:
        if path == "/.well-known/openid-configuration":
            own = {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
            }
            return {**own, **self.document}
        if path == "/keys":
            return KeySet(self.keys).as_dict()
        assert path == "/token", path
        assert form is not None
        return {"access_token": "a", "token_type": "Bearer", "id_token": self.id_token(form["code"][0])}

    def id_token(self, code: str) -> str:
        """Return a token that is right for `code`, the subject's name, except for the test's changes."""
        moment = int(time.time())
        good = {
            "iss": self.issuer, "aud": "our-id", "sub": code, "iat": moment, "exp": moment + 60,
            "nonce": self.nonces.get(code), "preferred_username": code,
        }  # fmt: skip
        claims = {name: value for name, value in {**good, **self.claims}.items() if value is not None}
        return jwt.encode(self.header, claims, self.keys[-1], [self.header["alg"]])

    def sign_in_there(self, url: str, person: str = "kari") -> str:
        """Sign in like the function `sign_in_there`, without any question."""
        wish = dict(parse_qsl(urlsplit(url).query))
        assert wish["redirect_uri"] == BACK
        self.nonces[person] = wish["nonce"]
        return path_of(f"{BACK}?code={person}&state={wish['state']}")


@pytest.fixture
def forger(settings) -> Iterator[Forger]:
    """Let people sign in with this provider."""
    openid.forget()
    forger = Forger()
    settings.SITE_URL, settings.OPENID = SITE, forger.config
    thread = threading.Thread(target=forger.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield forger
    finally:
        forger.release.set()
        forger.server.shutdown()
        forger.server.server_close()
        thread.join()
