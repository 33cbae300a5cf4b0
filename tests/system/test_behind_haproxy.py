"""The sample of HAProxy in front of real processes: the requests that it passes on, and a rolling restart
without loss."""

import http.client
import json
import signal
import threading
from collections.abc import Iterator

import pytest

from accounts.models import User
from accounts.services.tokens import create_token
from compute.models import AddressPool, Instance, Job
from compute.services.networking.pools import fill_pool
from tests.compute.drivers.qemu.disk_files import needs
from tests.system.conftest import Fleet, settled
from tests.system.front import NAME, TIMEOUT_SECONDS, Front, Granian, wait_until_sent_to
from tests.waiting import wait_for
from tests.world import STRONG, World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system, pytest.mark.guest]

METRICS = "a-token-of-prometheus"


class Site:
    """Two web processes and a stream process, behind HAProxy."""

    def __init__(self, fleet: Fleet):
        fleet.env |= {"NUM_PROXIES": "1", "ALLOWED_HOSTS": NAME, "METRICS_TOKEN": METRICS}
        # longer than the 10 seconds of PRODUCTION: HAProxy has to notice on a machine that does other things too;
        # the rest of PRODUCTION is the affair of tests/system/test_behind_proxy.py
        fleet.env |= {"SITE_URL": f"https://{NAME}", "DRAIN_SECONDS": "30"}
        self.web = [Granian(fleet, "rsgi"), Granian(fleet, "rsgi")]
        self.stream = Granian(fleet, "streams")
        self.front = Front(fleet.state, self.web, self.stream)


@pytest.fixture
def site(fleet: Fleet) -> Iterator[Site]:
    needs("haproxy")
    site = Site(fleet)
    try:
        wait_until_sent_to(site.front, "web", "stream")
        yield site
    finally:
        site.front.stop()


@pytest.fixture
def token(world: World) -> str:
    return create_token(User.objects.get(pk=world.actor.user_id), "test")[1]


def test_long_filters_pass_slow_bodies_end_and_streams_have_processes_of_their_own(site: Site, token: str):
    front = site.front
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    slow = front.connection()
    slow.putrequest("POST", "/v4/profile/tokens")
    for name, value in {**headers, "Content-Length": "1000"}.items():
        slow.putheader(name, value)
    slow.endheaders(b'{"label": ')  # no more bytes: the end of the test checks the time limit

    client = front.connection()

    def answer(method: str, path: str, body: str | None = None, **more: str) -> tuple[int, str]:
        client.request(method, path, body, headers | {name.replace("_", "-"): more[name] for name in more})
        response = client.getresponse()
        return response.status, response.read().decode()

    assert answer("GET", "/v4/images", X_Filter=f'{{"label": "{"x" * 64_000}"}}')[0] == 200
    status, text = answer("GET", "/v4/images", X_Filter='{"label": "café"}')
    assert (status, json.loads(text)["errors"][0]["field"]) == (400, "X-Filter")
    assert answer("POST", "/v4/profile/tokens", json.dumps({"label": "through"}))[0] == 200
    assert answer("GET", "/metrics", Authorization=f"Bearer {METRICS}")[0] == 404
    assert answer("GET", "//metrics", Authorization=f"Bearer {METRICS}")[0] == 404
    assert front.requests_of("stream") == 0

    assert answer("PUT", "/uploads/images/nobody-has-this", "x" * 100_000)[0] == 404
    wait_for(lambda: front.requests_of("stream") == 1)  # HAProxy counts a request after its answer
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
    status, _ = answer("GET", "/consoles/nobody-has-this", Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", **upgrade)
    assert status == 403
    wait_for(lambda: front.requests_of("stream") == 2)

    large = front.connection()
    large.putrequest("POST", "/v4/account")
    large.putheader("Content-Length", str(16 * 1024**2 + 1))
    large.endheaders()
    assert large.getresponse().status == 413

    assert slow.getresponse().status == 408
    for connection in (client, slow, large):
        connection.close()


class Client(threading.Thread):
    """A client that sends requests over one connection as long as possible, and keeps the answers."""

    def __init__(self, front: Front, token: str, ended: threading.Event, pause: float, *request: str):
        super().__init__()
        self.connection, self.ended, self.pause, self.request = front.connection(), ended, pause, request
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.statuses: list[int] = []
        self.lost: list[str] = []

    def run(self) -> None:
        while not self.ended.wait(self.pause):
            try:
                self.connection.request(*self.request, headers=self.headers)
                response = self.connection.getresponse()
                response.read()
                self.statuses.append(response.status)
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(repr(error))
                self.connection.close()
        self.connection.close()


def test_a_rolling_restart_loses_no_request_and_no_job(
    fleet: Fleet, world: World, hypervisor, site: Site, token: str
):
    """Each process is stopped and started again in turn, while clients with connections of their own go on."""
    public = {"kind": "public", "network": "198.19.0.0/20", "gateway": "198.19.0.1"}
    fill_pool(AddressPool.objects.create(region=world.region, **public))
    fleet.worker()
    fleet.worker()
    fleet.beat()
    ended = threading.Event()
    instance = {"region": world.region.pk, "type": world.type.pk, "image": world.image.pk, "root_pass": STRONG}
    create = ("POST", "/v4/compute/instances", json.dumps(instance))
    readers = [Client(site.front, token, ended, 0.05, "GET", "/v4/compute/instances") for _ in range(3)]
    writer = Client(site.front, token, ended, 1, *create)
    clients = [*readers, writer]
    for client in clients:
        client.start()

    def all_go_on() -> None:
        """Wait until each client has had two more answers. The second one's request was sent after this call."""
        before = [len(client.statuses) for client in clients]
        wait_for(lambda: all(len(each.statuses) >= n + 2 for each, n in zip(clients, before, strict=True)))

    try:
        all_go_on()
        for web in site.web:
            web.stop()
            all_go_on()
            web.start()
            wait_until_sent_to(site.front, "web")
        for worker in tuple(fleet.workers):
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(TIMEOUT_SECONDS) == 0
            fleet.workers.remove(worker)
            fleet.worker()
            all_go_on()
        [clock] = [each for each in fleet.others if "beat" in each.args]
        clock.send_signal(signal.SIGTERM)
        assert clock.wait(TIMEOUT_SECONDS) == 0
        fleet.beat()
        all_go_on()
    finally:
        ended.set()
        for client in clients:
            client.join()

    assert [error for client in clients for error in client.lost] == []
    assert {status for client in clients for status in client.statuses} == {200}
    wait_for(settled)
    posted = len(writer.statuses)
    assert Instance.objects.filter(status="running").count() == Instance.objects.count() == posted
    assert Job.objects.filter(kind="provision", state="done").count() == Job.objects.count() == posted
