"""Real workers and a real clock report that they run, that they stop, and nothing after they are killed."""

import os
import signal

import psutil
import pytest
from django.db.models.functions import Now

from compute.models import Heartbeat
from compute.services.heartbeats import MAX_SILENCE, alive
from config.version import VERSION
from tests.system.conftest import Fleet, kill
from tests.waiting import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]


def running(kind: str) -> list[Heartbeat]:
    return list(Heartbeat.objects.filter(alive(), kind=kind))


def renewed(row: Heartbeat) -> bool:
    """Tell whether the process has renewed its heartbeat since `row` was read."""
    return Heartbeat.objects.filter(pk=row.pk, seen__gt=row.seen, stopped=None).exists()


def time_goes_by() -> None:
    """Make the silence long enough to count. A process that runs reports again."""
    Heartbeat.objects.update(seen=Now() - 2 * MAX_SILENCE)


def test_a_worker_speaks_up_until_it_is_killed(fleet: Fleet):
    worker = fleet.worker()
    wait_for(lambda: running("worker"))
    [row] = running("worker")
    assert (row.pid, row.version, row.stopped) == (worker.pid, VERSION, None)
    assert (row.queues, row.slots) == (["celery", "clock"], 2)
    wait_for(lambda: renewed(row))

    # a process of its pool that dies is replaced by a fork, which does not inherit the heartbeat
    for child in psutil.Process(worker.pid).children():
        child.kill()
    time_goes_by()
    wait_for(lambda: running("worker"))
    assert [each.pk for each in running("worker")] == [row.pk]

    fleet.workers.remove(worker)
    kill(worker)
    time_goes_by()
    assert not running("worker")
    assert Heartbeat.objects.get().stopped is None
    fleet.worker()
    wait_for(lambda: running("worker"))
    assert Heartbeat.objects.count() == 2


def test_worker_and_clock_say_that_they_stop(fleet: Fleet):
    worker = fleet.worker()
    fleet.beat()
    [clock] = fleet.others
    wait_for(lambda: running("worker") and running("clock"))
    [row] = running("clock")
    assert row.pid == clock.pid
    wait_for(lambda: renewed(row))
    for process in (worker, clock):
        os.kill(process.pid, signal.SIGTERM)
        process.wait(300)
    assert Heartbeat.objects.count() == 2
    assert not Heartbeat.objects.filter(stopped=None).exists()
    assert not running("worker") + running("clock")


def test_a_worker_without_its_broker_falls_silent_and_speaks_up_when_it_is_back(fleet: Fleet):
    import redis

    fleet.worker()
    wait_for(lambda: running("worker"))
    pid = redis.Redis.from_url(fleet.env["REDIS_URL"]).info("server")["process_id"]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not fleet.broker.server.answers())
    wait_for(lambda: not Heartbeat.objects.filter(seen__gt=Now() - MAX_SILENCE / 3).exists())
    fleet.broker.revive()
    wait_for(lambda: Heartbeat.objects.filter(seen__gt=Now() - MAX_SILENCE / 3).exists())
    assert Heartbeat.objects.count() == 1
