"""Real probing: servers that become slow, wrong, down and up again, and workers that compete and die."""

import os
import signal
import subprocess
import threading
from contextlib import suppress

import psutil
import pytest

from accounts.models import Event, Message, Ticket
from managed.models import Issue, Measurement, Service
from tests.managed.servers import Behaviour, Server, answer, silence
from tests.managed.watched import clock, contact, make_due, managed_account, watch
from tests.ports import free_port
from tests.system.conftest import Fleet, kill
from tests.waiting import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

SILENCE, LONG_TIMEOUT = 2, 255
"""Timeouts in seconds: for a service that does not answer in a test, and for services that would answer."""
OTHERS = 18
FEW = 8
"""Checks that one worker runs at a time. No two of three workers have room for all."""


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    """A fleet whose tests decide when services are due: the interval is an hour. Its clock runs as usual.

    The job limits are long because there are no jobs. Short limits would only kill processes on a slow disk.
    """
    fleet.env |= {"PROBE_EVERY": "3600", "PROBE_CONCURRENCY": str(FEW), "PROBE_ALLOWED": "127.0.0.0/8"}
    fleet.env |= {"JOB_SOFT_LIMIT": "60", "JOB_HARD_LIMIT": "75", "JOB_LEASE": "90"}
    return fleet


class Watched:
    """An account with services on real servers, whose behaviour the test sets."""

    def __init__(self) -> None:
        self.account = managed_account(email="account@example.com")
        for name in ("ada", "bob"):
            contact(self.account, name, "on call")
        self.gate = threading.Event()
        self.gate.set()
        self.other = Server(self._when_open)
        self.web = Server(answer(b"All is well"))
        self.port = free_port()
        self.mail: Server | None = Server(silence(), reads=False, port=self.port)
        self.rounds = 0
        group = {"consultation_group": "on call"}
        self.shop = watch(
            self.account, label="shop", address=self.web.url, body="All is well", timeout=LONG_TIMEOUT, **group
        )
        self.tcp = watch(
            self.account,
            label="mail",
            service_type="tcp",
            address=f"127.0.0.1:{self.port}",
            timeout=LONG_TIMEOUT,
            **group,
        )
        self.others = [
            watch(self.account, label=f"other {n}", address=f"{self.other.url}{n}", timeout=LONG_TIMEOUT)
            for n in range(OTHERS)
        ]

    def _when_open(self, connection) -> None:
        self.gate.wait(2 * LONG_TIMEOUT)
        answer()(connection)

    def let_shop(self, behave: Behaviour, timeout: int = LONG_TIMEOUT) -> None:
        """Set the behaviour of the shop's server from now on, and the `timeout` in seconds of its checks."""
        self.web.behave = behave
        Service.objects.filter(pk=self.shop.pk).update(timeout=timeout)

    def begin_round(self) -> None:
        self.rounds += 1
        if self.rounds > 1:
            make_due(*Service.objects.all())

    def missing(self) -> int:
        """Return the number of services not yet checked in this round. No service is checked twice in a round."""
        per_service = [service.measurements.count() for service in Service.objects.all()]
        assert max(per_service) <= self.rounds
        return sum(self.rounds - count for count in per_service)

    def check_all(self) -> None:
        self.begin_round()
        wait_for(lambda: not self.missing())

    def close(self) -> None:
        self.gate.set()
        for server in (self.other, self.web, self.mail):
            if server is not None:
                server.__exit__()


@pytest.fixture
def watched(transactional_db):
    watched = Watched()
    yield watched
    watched.close()


def statuses() -> dict[str, str]:
    return dict(Service.objects.filter(label__in=["shop", "mail"]).values_list("label", "status"))


def subjects(fleet: Fleet) -> list[str]:
    """Return the subjects of the mails that were sent. They are in the workers' log."""
    wait_for(lambda: not Message.objects.exists())
    lines = (fleet.state / "fleet.log").read_text(errors="replace").splitlines()
    return sorted(line.removeprefix("Subject: ") for line in lines if line.startswith("Subject: "))


def about(label: str) -> list[str]:
    found = Event.objects.filter(entity_type="managed_service", entity_label=label).order_by("pk")
    return [event.message for event in found]


def test_an_outage_is_reported_once_although_a_worker_is_killed(fleet: Fleet, watched: Watched):
    for _ in range(3):
        fleet.worker(concurrency=1)
    fleet.beat()

    watched.check_all()
    assert set(Service.objects.values_list("status", flat=True)) == {"ok"}
    assert Event.objects.filter(message__endswith=" is up.").count() == OTHERS + 2

    # wrong and down, once: a single failure is no problem yet
    watched.let_shop(answer(b"Error establishing a database connection"))
    watched.mail.__exit__()
    watched.mail = None
    watched.check_all()
    assert statuses() == {"shop": "ok", "mail": "ok"}
    assert not Issue.objects.exists()

    # slow and down, twice in a row; a worker dies while it runs as many checks as it can
    watched.let_shop(silence(), timeout=SILENCE)
    watched.gate.clear()
    watched.begin_round()
    wait_for(lambda: watched.missing() == OTHERS)
    wait_for(lambda: not Message.objects.exists())  # a worker that is killed in a send may repeat it
    wait_for(lambda: sum(hands_full(worker, watched) for worker in fleet.workers) == OTHERS)
    dead = fleet.workers.pop(0)
    claimed = hands_full(dead, watched)
    assert 0 < claimed <= FEW
    kill(dead)
    watched.gate.set()
    wait_for(lambda: watched.missing() == claimed)
    assert unchecked(watched) == set(Service.objects.exclude(lease_until=None).values_list("pk", flat=True))
    Service.objects.exclude(lease_until=None).update(lease_until=clock())  # time passes
    fleet.worker(concurrency=1)
    wait_for(lambda: not watched.missing())

    assert statuses() == {"shop": "problem", "mail": "problem"}
    issue = Issue.objects.get()
    assert sorted(issue.services) == sorted([watched.shop.pk, watched.tcp.pk])
    assert Ticket.objects.count() == 1
    assert (issue.ticket.status, issue.ticket.replies.count()) == ("new", 1)
    assert subjects(fleet) == ["Down: mail"] * 2 + ["Down: shop"] * 2

    # still down: no more messages
    watched.check_all()
    assert subjects(fleet) == ["Down: mail"] * 2 + ["Down: shop"] * 2

    # up again, one after the other
    watched.let_shop(answer(b"All is well"))
    watched.check_all()
    issue = Issue.objects.get()
    assert (statuses(), issue.closed) == ({"shop": "ok", "mail": "problem"}, None)
    watched.mail = Server(silence(), reads=False, port=watched.port)
    watched.check_all()
    issue = Issue.objects.get()
    assert issue.closed is not None
    assert issue.ticket.status == "closed"
    assert [reply.description for reply in issue.ticket.replies.order_by("pk")][1:] == [
        "shop is up again.",
        "mail is up again.",
    ]
    assert (
        subjects(fleet) == ["Down: mail"] * 2 + ["Down: shop"] * 2 + ["Up again: mail"] * 2 + ["Up again: shop"] * 2
    )

    assert about("shop") == [
        "shop is up.",
        f"shop ({watched.web.url}) is down: there was no answer within {SILENCE} s",
        "shop is up.",
    ]
    assert about("mail") == [
        "mail is up.",
        f"mail (127.0.0.1:{watched.port}) is down: the connection failed: connection refused",
        "mail is up.",
    ]
    assert Event.objects.filter(action="ticket_create").count() == 1
    assert Event.objects.filter(message="The ticket was closed.").count() == 1
    assert Measurement.objects.count() == watched.rounds * (OTHERS + 2)


def hands_full(worker: subprocess.Popen, watched: Watched) -> int:
    """Return the number of unanswering services that a worker is connected to."""
    found = []
    for process in psutil.Process(worker.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended since it was listed
            found += process.net_connections("tcp4")
    return sum(bool(each.raddr) and each.raddr.port == watched.other.port for each in found)


def unchecked(watched: Watched) -> set[int]:
    return {service.pk for service in watched.others if service.measurements.count() < watched.rounds}


def test_a_worker_that_ends_in_order_leaves_nothing_to_wait_for(fleet: Fleet, watched: Watched):
    watched.gate.clear()
    watched.begin_round()
    first = fleet.worker(concurrency=1)
    fleet.beat()
    wait_for(lambda: watched.other.connections == FEW)
    os.kill(first.pid, signal.SIGTERM)
    first.wait(300)
    fleet.workers.remove(first)
    assert not Service.objects.exclude(lease_until=None).exists()
    watched.gate.set()
    fleet.worker(concurrency=1)
    wait_for(lambda: not watched.missing())
