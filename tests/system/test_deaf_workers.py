"""No worker stops silently: one that takes no messages reconnects, or ends with an error."""

import os
import signal
import time

import psutil
import pytest
import redis

from compute.models import Heartbeat, Job
from compute.services.heartbeats import alive
from tests.system.conftest import Fleet, settled
from tests.system.deaf import DEAF, EVERY_CHANNEL, THIS_CHANNEL
from tests.waiting import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

FREEZES = 9


def is_in_log(fleet: Fleet, words: str) -> bool:
    return words in (fleet.state / "fleet.log").read_text()


def renewed(row: Heartbeat) -> bool:
    return Heartbeat.objects.filter(pk=row.pk, seen__gt=row.seen, stopped=None).exists()


def runs() -> list[Heartbeat]:
    return list(Heartbeat.objects.filter(alive(), kind="worker"))


@pytest.fixture
def deaf(fleet):
    """A running worker, and the file that makes it deaf."""
    path = fleet.state / "deaf"
    fleet.env |= {DEAF: str(path)}
    process = fleet.worker(application="tests.system.deaf")
    wait_for(runs)
    return process, path


def test_a_worker_that_takes_no_messages_reconnects_and_takes_them(fleet: Fleet, deaf):
    process, path = deaf
    path.write_text(THIS_CHANNEL)
    wait_for(lambda: is_in_log(fleet, "takes no messages from the broker: it reconnects"))
    [row] = runs()
    wait_for(lambda: renewed(row))
    assert process.poll() is None


def test_a_worker_that_reconnecting_does_not_help_ends_with_an_error(fleet: Fleet, deaf):
    """A hanging process of its pool does not keep it either."""
    process, path = deaf
    psutil.Process(process.pid).children()[0].suspend()
    path.write_text(EVERY_CHANNEL)
    assert process.wait(600) == 1
    assert is_in_log(fleet, "takes no messages from the broker after it reconnected: it ends")


def test_workers_go_on_after_a_broker_that_stood_still_again_and_again(fleet: Fleet, world, hypervisor):
    """Each freeze lasts longer than senders wait, while workers take and acknowledge messages."""
    fleet.worker()
    fleet.beat()
    wait_for(runs)
    broker = redis.Redis.from_url(fleet.env["REDIS_URL"]).info("server")["process_id"]
    for _ in range(FREEZES):
        for _ in range(3):
            world.create()
        os.kill(broker, signal.SIGSTOP)
        time.sleep(1.6)
        os.kill(broker, signal.SIGCONT)
        time.sleep(0.5)
    wait_for(settled)
    assert set(Job.objects.values_list("state", flat=True)) == {"done"}
    [row] = runs()
    wait_for(lambda: renewed(row))
