"""Many checks at once in one process. A check that is slow, broken or gone delays no other."""

import asyncio
import ipaddress
import os
import threading
import time
from contextlib import ExitStack

import psycopg
import pytest
from django.db import connection, transaction

from accounts.actors import Actor
from accounts.services.account import lock_account
from config.egress import guard
from managed import tasks
from managed.models import Measurement, Service
from managed.prober import loop
from managed.prober.checks import Stalled
from managed.prober.loop import Prober
from managed.services import probing, services
from managed.services.services import ServiceSpec
from tests.managed.servers import Server, answer, silence
from tests.managed.watched import UP, claim_all, make_due, managed_account, watch
from tests.waiting import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


LONG_SECONDS = 120
"""Seconds for events that take a moment, even on a busy machine."""


@pytest.fixture(autouse=True)
def _checks_this_machine(settings):
    """Allow checks of this machine, with an interval so long that no service is due twice in a test."""
    settings.PROBE_ALLOWED = [ipaddress.ip_network("127.0.0.0/8")]
    settings.PROBE_EVERY = 3600


@pytest.fixture
def probers():
    """Return a function that makes probers. They end with the test."""
    with ExitStack() as stack:

        def make(most: int = 100) -> Prober:
            prober = Prober(most)
            stack.callback(lambda: prober.alive and prober.close())
            return prober

        yield make


@pytest.fixture
def account():
    return managed_account()


@pytest.fixture
def checked(monkeypatch):
    """Results of checks by address: an outcome, an exception, or an event to wait for."""
    found: dict[str, object] = {}

    async def check(probe):
        what = found.get(probe.address, UP)
        if isinstance(what, Exception):
            raise what
        if isinstance(what, threading.Event):
            while not what.is_set():
                await asyncio.sleep(0.01)
            return UP
        return what

    monkeypatch.setattr(loop, "check", check)
    return found


def measured(service: Service) -> int:
    return Measurement.objects.filter(service=service).count()


def test_slow_services_do_not_delay_quick_ones(probers, account):
    with Server(answer()) as quick, Server(silence()) as slow:
        slow_ones = [watch(account, address=slow.url, timeout=255) for _ in range(20)]
        quick_ones = [watch(account, address=quick.url, timeout=LONG_SECONDS) for _ in range(20)]
        make_due(*slow_ones, ago=60)
        prober = probers()
        prober.begin_due()
        wait_for(lambda: Service.objects.filter(status="ok").count() == 20)
        assert {service.pk for service in quick_ones} == set(
            Service.objects.filter(status="ok").values_list("pk", flat=True)
        )
        # the last outcome is written before its check is over; the slow checks take 255 seconds
        wait_for(lambda: prober.capacity() >= 80)
        assert prober.capacity() == 80, "the slow ones are still under way"


def test_takes_no_more_than_there_is_room_for_and_says_that_there_may_be_more(probers, account, checked):
    gate = threading.Event()
    checked["http://203.0.113.9/"] = gate
    for _ in range(3):
        watch(account)
    prober = probers(2)
    assert prober.begin_due() is True
    assert prober.capacity() == 0
    assert prober.begin_due() is True
    assert Service.objects.filter(lease_until=None).count() == 1
    gate.set()
    assert prober.wait(LONG_SECONDS)
    assert prober.begin_due() is False
    assert prober.wait(LONG_SECONDS)
    assert Measurement.objects.count() == 3


def test_a_full_process_passes_the_notification_on_and_not_for_ever(probers, account, checked, monkeypatch):
    checked["http://203.0.113.9/"] = gate = threading.Event()
    for _ in range(2):
        watch(account)
    prober, notified = probers(1), []
    monkeypatch.setattr(tasks.loop, "here", lambda: prober)
    monkeypatch.setattr(tasks, "notify", lambda *args: notified.append(args))
    tasks.probe()
    assert notified == [(probing.TASK_NAME, tasks.MAX_PASSES - 1)]
    tasks.probe(1)
    tasks.probe(0)
    assert notified[1:] == [(probing.TASK_NAME, 0)]
    gate.set()
    assert prober.wait(LONG_SECONDS)


def test_checks_that_count_no_more_are_stopped_and_make_room(probers, account, checked):
    """Repeated changes of a service that hangs would fill all processes, because no lease tells of these
    checks."""
    released = threading.Event()
    stays, *gone = (watch(account, address=f"203.0.113.{number}:1", service_type="tcp") for number in range(4))
    checked.update({service.address: released for service in (stays, *gone)})
    prober, actor = probers(4), Actor.platform(account.pk)
    prober.begin_due()
    assert prober.capacity() == 0
    wait_for(lambda: len(prober._tasks) == 4)
    services.disable(actor, gone[0])
    services.update(actor, gone[1], ServiceSpec({"timeout": 255}))
    services.delete(actor, gone[2])
    prober.begin_due()
    wait_for(lambda: prober.capacity() >= 2)
    prober.begin_due()  # the one that was changed is due again
    wait_for(lambda: prober.capacity() == 2 and len(prober._tasks) == 2)
    released.set()
    assert prober.wait(LONG_SECONDS)
    assert [measured(service) for service in (stays, gone[0], gone[1])] == [1, 0, 1]


def test_checks_begin_one_after_the_other_and_never_late(probers, account, checked):
    services = [watch(account) for _ in range(40)]
    begun = time.monotonic()
    prober = probers()
    prober.begin_due()
    assert prober.wait(LONG_SECONDS)
    assert time.monotonic() - begun >= 39 * loop.PACE_SECONDS
    assert Measurement.objects.count() == len(services)


@pytest.mark.parametrize("error", [RuntimeError("a bug"), Stalled()])
def test_a_check_that_breaks_is_forgotten_and_due_again_when_its_lease_is_over(probers, account, checked, error):
    broken, sound = watch(account, address="http://203.0.113.1/"), watch(account)
    checked[broken.address] = error
    prober = probers()
    prober.begin_due()
    assert prober.wait(LONG_SECONDS)
    assert (measured(broken), measured(sound)) == (0, 1)
    assert prober.begin_due() is False
    broken.refresh_from_db()
    assert broken.fence == 1, "not at once again"
    del checked[broken.address]
    Service.objects.filter(pk=broken.pk).update(lease_until=probing._clock())
    prober.begin_due()
    assert prober.wait(LONG_SECONDS)
    assert measured(broken) == 1


def test_a_service_whose_outcome_cannot_be_written_does_not_spin(probers, account, checked, monkeypatch):
    poison, sound = watch(account), watch(account)
    real = probing.settle

    def settle(probe, outcome):
        if probe.service_id == poison.pk:
            raise ValueError("never")
        return real(probe, outcome)

    monkeypatch.setattr(probing, "settle", settle)
    prober = probers()
    for _ in range(5):
        prober.begin_due()
        assert prober.wait(LONG_SECONDS)
    poison.refresh_from_db()
    assert poison.fence == 1
    assert poison.lease_until > probing._clock()
    assert measured(sound) == 1


def test_the_books_outlive_a_database_that_was_restarted(probers, account, checked):
    services = [watch(account) for _ in range(3)]
    prober = probers()
    prober.begin(claim_all(*services))
    assert prober.wait(LONG_SECONDS)
    own = connection.connection.info.backend_pid
    with psycopg.connect(own_address(), autocommit=True) as server:
        ended = server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid NOT IN (%s, pg_backend_pid())",
            (own,),
        ).fetchall()
    assert ended, "the books had a connection"
    prober.begin(claim_all(*services))
    assert prober.wait(LONG_SECONDS)
    assert Measurement.objects.count() == 6, "no outcome was lost"


def own_address() -> str:
    found = connection.get_connection_params()
    return psycopg.conninfo.make_conninfo(
        **{key: found[key] for key in ("dbname", "user", "host", "port", "password") if found.get(key)}
    )


def test_an_account_that_is_locked_is_not_waited_for_twice(probers, account, checked, monkeypatch):
    monkeypatch.setattr(probing, "LOCK_TIMEOUT", "100ms")
    tried = []
    real = probing.settle
    monkeypatch.setattr(probing, "settle", lambda *args: tried.append(args) or real(*args))
    watch(account)
    prober = probers()
    with transaction.atomic():
        lock_account(account.pk)
        prober.begin(probing.claim(1))
        # claimed within this transaction: the service's row is locked too, but after the account's
        assert prober.wait(LONG_SECONDS)
    assert len(tried) == 1
    assert not Measurement.objects.exists()


def test_a_prober_that_ends_gives_its_running_checks_back(probers, account, checked):
    checked["http://203.0.113.1/"] = threading.Event()
    stuck, done = watch(account, address="http://203.0.113.1/"), watch(account)
    prober = probers()
    prober.begin_due()
    wait_for(lambda: measured(done) == 1)
    prober.close()
    stuck.refresh_from_db()
    assert stuck.lease_until is None
    assert [probe.service_id for probe in probing.claim(10)] == [stuck.pk]


def test_a_prober_that_ends_before_its_checks_began_gives_them_back(probers, account, checked, monkeypatch):
    monkeypatch.setattr(loop, "PACE_SECONDS", 60)
    services = [watch(account) for _ in range(3)]
    prober = probers()
    prober.begin_due()
    prober.close()
    assert Service.objects.filter(lease_until=None).count() >= len(services) - 1


def test_a_process_has_one_prober_and_a_fork_its_own(monkeypatch):
    monkeypatch.setattr(loop, "_probers", {})
    mine = loop.here()
    assert loop.here() is mine
    real = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: real + 1)
    forked = loop.here()
    assert forked is not mine
    loop.stop()
    assert not forked.alive
    again = loop.here()
    assert again.alive, "one that has ended is replaced"
    loop.stop()
    loop.stop()
    mine.close()


def test_a_loop_that_died_is_replaced(monkeypatch):
    monkeypatch.setattr(loop, "_probers", {})
    first = loop.here()
    first.close()
    second = loop.here()
    assert second is not first
    assert second.alive
    loop.stop()


def test_as_many_files_are_asked_for_as_the_checks_need(monkeypatch):
    limits = [(1024, 4096)]
    monkeypatch.setattr(loop.resource, "getrlimit", lambda kind: limits[-1])
    monkeypatch.setattr(loop.resource, "setrlimit", lambda kind, wanted: limits.append(wanted))
    assert loop._affordable(200) == 200
    assert limits == [(1024, 4096)]
    assert loop._affordable(500) == 500
    assert limits[-1] == (2100, 4096)
    assert loop._affordable(100_000) == (4096 - loop.SPARE_FILES) // loop.FILES_PER_CHECK


def test_our_own_servers_are_looked_up_before_the_checks(probers, account, monkeypatch):
    """The look-up does not run in the loop, where it would delay all checks."""
    asked = []
    real = guard._resolve
    monkeypatch.setattr(guard, "_hosts", lambda: ("127.0.0.1",))  # embedded servers have paths, and no addresses
    monkeypatch.setattr(guard, "_plane", {})
    monkeypatch.setattr(guard, "_resolve", lambda host: asked.append(threading.current_thread().name) or real(host))
    with Server(answer()) as server:
        watch(account, address=server.url)
        prober = probers()
        prober.begin_due()
        assert prober.wait(LONG_SECONDS)
    assert asked
    assert "prober" not in asked
