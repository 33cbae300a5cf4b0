"""The sample of Caddy in front of real processes: the requests that it passes on, and to which process."""

import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from accounts.models import Login, User
from accounts.services.tokens import create_token
from tests.certificates import certificate, new_key, pem
from tests.compute.drivers.qemu.disk_files import needs
from tests.ports import free_port
from tests.system.conftest import ROOT, Fleet, kill
from tests.system.front import NAME, TIMEOUT_SECONDS, Granian
from tests.tours.pages import replaced
from tests.waiting import wait_for
from tests.world import STRONG, World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system, pytest.mark.guest]

METRICS = "a-token-of-prometheus"
CLIENT = "127.0.0.5"
"""The address of the client: not the address that Caddy uses."""


class Caddy:
    """Caddy with the sample's configuration, in front of a web process and a stream process."""

    def __init__(self, fleet: Fleet):
        fleet.env |= {"NUM_PROXIES": "1", "ALLOWED_HOSTS": NAME, "METRICS_TOKEN": METRICS}
        self.port = free_port()
        self.url = fleet.env["SITE_URL"] = f"https://{NAME}:{self.port}"
        self.web, self.stream = Granian(fleet, "rsgi"), Granian(fleet, "streams")
        state = fleet.state
        key = new_key()
        self.ca = certificate(key, NAME, NAME)
        (state / "cloud.pem").write_text(self.ca + pem(key))
        sample = replaced(
            (ROOT / "docs" / "deploy" / "Caddyfile").read_text(),
            {
                # no administration, no certificate from elsewhere, no port 80
                "{\n\tservers {": "{\n\tadmin off\n\tauto_https off\n\tservers {",
                f"\n{NAME} {{": f"\nhttps://{NAME}:{self.port} {{\n\tbind 127.0.0.1\n"
                f"\ttls {state}/cloud.pem {state}/cloud.pem",
                "127.0.0.1:8000 127.0.0.2:8000": f"127.0.0.1:{self.web.port}",
                "127.0.0.1:8001": f"127.0.0.1:{self.stream.port}",
            },
        )
        (state / "Caddyfile").write_text(sample)
        self.log = state / "caddy.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["caddy", "run", "--adapter", "caddyfile", "--config", str(state / "Caddyfile")],
                stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "XDG_DATA_HOME": str(state), "XDG_CONFIG_HOME": str(state), "HOME": str(state)},
            )  # fmt: skip

    def connection(self) -> http.client.HTTPSConnection:
        """Return a client's connection from an address of its own, for many requests."""
        context = ssl.create_default_context(cadata=self.ca)
        connection = http.client.HTTPSConnection(NAME, self.port, timeout=60, context=context)
        connection._create_connection = lambda address, *more: socket.create_connection(
            ("127.0.0.1", self.port), TIMEOUT_SECONDS, (CLIENT, 0)
        )
        return connection

    def serves(self) -> bool:
        """Tell whether a web and a stream process answer through it. Caddy uses a server after a successful
        health check."""
        assert self.process.poll() is None, self.log.read_text()
        try:
            return (self._status("/v4/regions"), self._status("/uploads/images/nobody-has-this", "PUT")) == (
                200,
                404,
            )
        except OSError:
            return False

    def _status(self, path: str, method: str = "GET") -> int:
        client = self.connection()
        client.request(method, path)
        status = client.getresponse().status
        client.close()
        return status


@pytest.fixture
def caddy(fleet: Fleet) -> Iterator[Caddy]:
    needs("caddy")
    caddy = Caddy(fleet)
    try:
        wait_for(caddy.serves)
        yield caddy
    finally:
        kill(caddy.process)
        sys.stdout.write(caddy.log.read_text()[-5_000:])


def requests_of(fleet: Fleet, path: str) -> int:
    """Return how often that path is in the access logs of web and stream processes."""
    return (fleet.state / "fleet.log").read_text(errors="replace").count(f" {path} ")


def test_the_sample_configuration_passes_the_right_requests(caddy: Caddy, fleet: Fleet, world: World):
    user = User.objects.get(pk=world.actor.user_id)
    token = create_token(user, "test")[1]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    client = caddy.connection()

    def answer(method: str, path: str, body: object = None, **more: str) -> tuple[int, str]:
        given = headers | {name.replace("_", "-"): more[name] for name in more}
        client.request(method, path, body, given, encode_chunked=not isinstance(body, str | None))
        response = client.getresponse()
        return response.status, response.read().decode()

    assert answer("GET", "/v4/images", X_Filter=f'{{"label": "{"x" * 64_000}"}}')[0] == 200
    status, text = answer("GET", "/v4/images", X_Filter='{"label": "café"}')
    assert (status, json.loads(text)["errors"][0]["field"]) == (400, "X-Filter")
    in_chunks = iter([b'{"label": ', b'"chunked"}'])
    status, text = answer("POST", "/v4/profile/tokens", in_chunks, Transfer_Encoding="chunked")
    assert (status, json.loads(text)["label"]) == (200, "chunked")
    for path in ("/metrics", "//metrics", "/metrics/"):
        assert answer("GET", path, Authorization=f"Bearer {METRICS}")[0] == 404, path
        assert requests_of(fleet, path) == 0, "a web process was asked"

    # the address that Caddy saw counts, whatever a client claims
    user.set_password(STRONG)
    user.save(update_fields=["password"])
    client.request("GET", "/login")
    page = client.getresponse()
    [cookie] = [value.partition(";")[0] for value in page.headers.get_all("Set-Cookie") if "csrf" in value]
    [field] = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.read().decode())
    form = {"csrfmiddlewaretoken": field, "username": user.username, "password": STRONG}
    origin = {"Origin": caddy.url, "Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
    client.request("POST", "/login", urlencode(form), origin | {"X-Forwarded-For": "203.0.113.9"})
    entered = client.getresponse()
    assert (entered.status, entered.read()) == (302, b"")
    assert {login.ip for login in Login.objects.all()} == {CLIENT}

    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
    status, _ = answer("GET", "/consoles/nobody-has-this", Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", **upgrade)
    assert status == 403

    client.close()
