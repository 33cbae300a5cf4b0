"""Servers of strangers that do not answer, on the real server: they keep nobody waiting but who asked them."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
import requests
from django.db import connection

from accounts.models import Event, User
from accounts.services.tokens import create_token
from compute.models import Domain
from config.server.lanes import SIZES
from tests.waiting import wait_for

pytestmark = pytest.mark.system

SECONDS = 300
SHARE = SIZES["outside"].places // 2
"""Requests of one account that may wait for servers of others, in each web process."""
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


class Silent:
    """A name server that takes connections and says nothing, until it lets go of them."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=SHARE)
        self.place = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.held: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                self.held.append(self.listener.accept()[0])
            except OSError:
                return

    def let_go(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for each in self.held:
            each.close()


@pytest.fixture
def silent() -> Iterator[Silent]:
    server = Silent()
    yield server
    if server.listener.fileno() != -1:
        server.let_go()


def test_imports_from_a_silent_name_server_keep_nobody_else_waiting(fleet, world, silent):
    # One web process, and a wait that ends only when the name server lets go.
    limit = SHARE + 2
    fleet.env |= {
        "DOMAIN_IMPORT_TIMEOUT": "100000",
        "PROBE_ALLOWED": "127.0.0.0/8",
        "RATE_LIMIT_DOMAIN_IMPORT": f"{limit}/36000",
    }
    fleet.web()
    site = f"http://127.0.0.1:{fleet.port}/v4"
    _, token = create_token(User.objects.get(pk=world.actor.user_id), "test")
    headers = {"Authorization": f"Bearer {token}"}

    def ask() -> requests.Response:
        body = {"domain": "example.com", "remote_nameserver": silent.place}
        return requests.post(f"{site}/domains/import", json=body, headers=headers, timeout=SECONDS)

    assert requests.get(f"{site}/account", headers=headers, timeout=SECONDS).ok  # the process knows the token now
    with ThreadPoolExecutor(SHARE) as clients:
        asking: list[Future[requests.Response]] = [clients.submit(ask) for _ in range(SHARE)]
        try:
            wait_for(lambda: len(silent.held) == SHARE)
            for _ in range(8):
                assert requests.get(f"{site}/account", headers=headers, timeout=SECONDS).status_code == 200
            beyond = ask()
            assert (beyond.status_code, beyond.headers["Retry-After"]) == (429, "5")
            assert requests.put(f"{site}/profile", json={}, headers=headers, timeout=SECONDS).ok, "of another lane"
            with connection.cursor() as cursor:
                cursor.execute(CONNECTIONS)
                assert cursor.fetchone()[0] < SHARE, "who waits gives its connection back"
            assert not any(each.done() for each in asking)
        finally:
            silent.let_go()
        answers = [each.result() for each in asking]
    assert {answer.status_code for answer in answers} == {400}
    assert "does not transfer" in answers[0].json()["errors"][0]["reason"]
    # what the lane did not take was not counted: two are left
    assert [ask().status_code for _ in range(3)] == [400, 400, 429]
    assert not Domain.objects.exists()
    assert not Event.objects.filter(action__startswith="dns").exists()
