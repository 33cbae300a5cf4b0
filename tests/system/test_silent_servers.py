"""Strangers' servers that do not answer, on the real server: only the request that needs one waits."""

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
from tests.factories import UserFactory, token_of
from tests.waiting import wait_for

pytestmark = pytest.mark.system

SECONDS = 300
SHARE = SIZES["imports"].places // 2
"""Imports of one account that may run or wait for a thread, in each web process."""
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


class Silent:
    """A name server that accepts connections and says nothing, until the test releases them."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=SHARE)
        self.place = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                self.connections.append(self.listener.accept()[0])
            except OSError:
                return

    def let_go(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for each in self.connections:
            each.close()


@pytest.fixture
def silent() -> Iterator[Silent]:
    server = Silent()
    yield server
    if server.listener.fileno() != -1:
        server.let_go()


def connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(CONNECTIONS)
        return cursor.fetchone()[0]


def test_imports_from_a_silent_name_server_keep_nobody_else_waiting(fleet, world, silent):
    # One web process, and a wait that ends only when the test releases the connections.
    fleet.env |= {
        "DOMAIN_IMPORT_TIMEOUT": "100000",
        "PROBE_ALLOWED": "127.0.0.0/8",
        "RATE_LIMIT_DOMAIN_IMPORT": "3/36000",
    }
    fleet.web()
    site = f"http://127.0.0.1:{fleet.port}/v4"
    _, token = create_token(User.objects.get(pk=world.actor.user_id), "test")
    ours = {"Authorization": f"Bearer {token}"}
    others = {"Authorization": f"Bearer {token_of(UserFactory())}"}

    def ask(headers: dict[str, str]) -> requests.Response:
        body = {"domain": "example.com", "remote_nameserver": silent.place}
        return requests.post(f"{site}/domains/import", json=body, headers=headers, timeout=SECONDS)

    refused = threading.Event()

    def ask_until_one_is_refused() -> list[requests.Response]:
        """Send imports that wait for our account's thread. One is refused as soon as enough of them wait."""
        answers = []
        while not refused.is_set():
            answers.append(ask(ours))
            if answers[-1].status_code == 429:
                refused.set()
        return answers

    for headers in (ours, others):  # the process knows the tokens now
        assert requests.get(f"{site}/account", headers=headers, timeout=SECONDS).ok
        assert requests.put(f"{site}/profile", json={}, headers=headers, timeout=SECONDS).ok
    before = connections()
    with ThreadPoolExecutor(SHARE + 2) as clients:
        asking: list[Future[requests.Response]] = [clients.submit(ask, ours)]
        try:
            wait_for(lambda: len(silent.connections) == 1)
            waiting = [clients.submit(ask_until_one_is_refused) for _ in range(SHARE)]
            wait_for(refused.is_set)
            asking.append(clients.submit(ask, others))
            wait_for(lambda: len(silent.connections) == 2)
            for _ in range(8):
                assert requests.get(f"{site}/account", headers=ours, timeout=SECONDS).status_code == 200
            assert requests.put(f"{site}/profile", json={}, headers=ours, timeout=SECONDS).ok, "of another lane"
            turned_away = [answer for each in waiting for answer in each.result()]
            assert {answer.status_code for answer in turned_away} == {429, 503}
            assert {answer.headers["Retry-After"] for answer in turned_away} == {"5"}
            wait_for(lambda: connections() == before)  # a waiting thread gives its connection back
            assert len(silent.connections) == 2
            assert not any(each.done() for each in asking)
        finally:
            refused.set()
            silent.let_go()
        answers = [each.result() for each in asking]
    assert {answer.status_code for answer in answers} == {400}
    assert "does not transfer" in answers[0].json()["errors"][0]["reason"]
    # imports that the lane refused were not counted: two are left
    assert [ask(ours).status_code for _ in range(3)] == [400, 400, 429]
    assert not Domain.objects.exists()
    assert not Event.objects.filter(action__startswith="dns").exists()
