"""Notifications of due jobs in the broker: the number that waits, compared with the number of live jobs."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import redis
from django.conf import settings
from django.db import connection

from compute.jobs.notify import TASK_NAME
from compute.models import Job
from tests.drill.installation import Installation
from tests.drill.standstill.customers import wait_for
from tests.drill.standstill.findings import Findings, Timed
from tests.drill.standstill.scene import JOB_PATIENCE, Scene

SAMPLE_EVERY = 0.25
QUEUE = "celery"
MARGIN = 5.0
"""Seconds in which workers take up all jobs whose notification was lost, once they know of them."""


@dataclass
class Most:
    """The most messages that waited at a moment, and the largest number by which they exceeded live jobs."""

    waiting: int = 0
    live: int = 0
    beyond: int = 0
    samples: int = 0


class Broker:
    """The broker's lists of notifications, one for each priority."""

    def __init__(self, client: redis.Redis):
        self.client = client

    @classmethod
    def of(cls, site: Installation) -> "Broker":
        return cls(redis.Redis(unix_socket_path=str(site.valkey.socket)))

    def lists(self) -> list[bytes]:
        names = self.client.scan_iter(f"{settings.REDIS_PREFIX}{QUEUE}*", count=1000)
        return sorted(name for name in names if self.client.type(name) == b"list")

    def waiting(self) -> int:
        """Return the number of notifications of jobs that wait for a worker."""
        name = f'"task": "{TASK_NAME}"'.encode()
        return sum(name in message for each in self.lists() for message in self.client.lrange(each, 0, -1))

    def lose(self) -> int:
        """Delete all waiting messages. Returns their number."""
        lost = self.waiting()
        for each in self.lists():
            self.client.delete(each)
        return lost


def live() -> int:
    return Job.objects.filter(state__in=Job.LIVE).count()


@contextmanager
def sampled(broker: Broker) -> Iterator[Most]:
    """Compare waiting messages with live jobs for the length of the block."""
    most, stopped = Most(), threading.Event()
    thread = threading.Thread(target=_sample, args=(broker, most, stopped), daemon=True)
    thread.start()
    try:
        yield most
    finally:
        stopped.set()
        thread.join()


def _sample(broker: Broker, most: Most, stopped: threading.Event) -> None:
    try:
        while not stopped.wait(SAMPLE_EVERY):
            before, waiting, after = live(), broker.waiting(), live()
            there = max(before, after)  # some began or ended while the messages were counted
            most.samples += 1
            most.live, most.waiting = max(most.live, there), max(most.waiting, waiting)
            most.beyond = max(most.beyond, waiting - there)
    finally:
        connection.close()


def lost(scene: Scene, broker: Broker, findings: Findings) -> None:
    """The broker loses its queue while many jobs are due. They are notified again soon, and all of them end."""
    fences = dict(Job.objects.filter(state__in=Job.LIVE).values_list("pk", "fence"))
    findings.counts["messages that the broker lost"] = broker.lose()
    begun = time.monotonic()
    scene.disturbance.slow(0)
    went_on = wait_for(lambda: not _untouched(fences))
    seconds = time.monotonic() - begun if went_on else None
    findings.expect(went_on, f"{len(_untouched(fences))} jobs wait for ever after the broker lost its queue")
    findings.times.append(Timed("jobs go on without the queue", None, seconds, JOB_PATIENCE + MARGIN))


def _untouched(fences: dict[int, int]) -> list[int]:
    """Return the jobs that no worker has taken up since they had these fences."""
    now = Job.objects.filter(pk__in=fences, finished_at=None).values_list("pk", "fence")
    return [pk for pk, fence in now if fence == fences[pk]]
