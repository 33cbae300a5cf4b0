"""Jobs per second through two workers, compared with Celery's rate of tasks that do nothing.

Both are queued beforehand, in turns, and then run by one prefork worker with two processes: no-op tasks, boot
jobs, no-op tasks, boot jobs. Marks between them show when the workers got there. The driver is the simulated
one at scale zero. Its machines are created before the measurement.
"""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from django.conf import settings
from django.db.models import Prefetch

from accounts.actors import Actor
from compute.drivers.base import DiskSpec, MachineSpec
from compute.machine_names import disk_name, machine_name
from compute.models import Config, Instance, Job
from compute.services.instances.power import boot
from compute.worker.drivers import address_of, configured
from tests.bench.errors import BenchError
from tests.bench.servers import last_words, worker
from tests.bench.worker import MARKS, mark, noop

WORKERS = 2
PRIORITY = settings.JOB_PRIORITY
"""The priority of all messages, so that the queue keeps its order."""
TIMEOUT_SECONDS = 120.0
"""Seconds in which the workers run everything that is queued."""
TAIL = 20.0
"""Seconds for the work that remains after the end mark."""


@dataclass(frozen=True, slots=True)
class JobRates:
    """Rates per second, each a median of the rounds. `ratio` is the median of the rounds' ratios."""

    jobs: float
    noops: float
    ratio: float


def measure(folder: Path, *, jobs: int, rounds: int) -> JobRates:
    """Queue `jobs` boots and as many no-op tasks in each of `rounds`, and start two workers.

    Needs a seeded database and an empty queue. `folder` gets the marks and the log. Raises BenchError if a job
    failed.
    """
    instances = bootable(jobs * rounds)
    make_machines(instances)
    queue_noops(200)  # to warm up both processes
    for number in range(rounds):
        _mark(f"noops-{number}")
        queue_noops(jobs)
        _mark(f"jobs-{number}")
        for instance in instances[number * jobs : (number + 1) * jobs]:
            boot(Actor(account_id=instance.account_id, username="bench"), instance)
    _mark("end")
    marks, log = folder / "marks", folder / "worker.log"
    marks.unlink(missing_ok=True)
    with worker({"DRIVER_SCALE": "0", MARKS: str(marks)}, log):
        times = _wait_for_end(marks, log)
        _check_all_done([instance.pk for instance in instances])
    return _rates(times, jobs)


def queue_noops(count: int) -> None:
    for _ in range(count):
        noop.apply_async(priority=PRIORITY)


def _mark(name: str) -> None:
    mark.apply_async((name,), priority=PRIORITY)


def bootable(count: int) -> list[Instance]:
    """Return `count` instances that are off and have a profile and disks, as a view would fetch them."""
    offline = Instance.objects.filter(status=Instance.Status.OFFLINE).order_by("pk")
    profiles = Prefetch("configs", Config.objects.order_by("pk"))
    found = list(offline.select_related("type", "host").prefetch_related(profiles, "disks")[:count])
    if len(found) < count:
        raise BenchError(f"only {len(found)} instances can be booted, of {count}")
    return found


def make_machines(instances: list[Instance]) -> None:
    """Create the machines and disks of the instances in the simulated hypervisor."""
    for instance in instances:
        machine = machine_name(instance.pk)
        hypervisor = configured.at(address_of(instance.host))
        hypervisor.define(MachineSpec(machine, instance.type.memory, instance.type.vcpus, ""))
        for disk in instance.disks.all():
            hypervisor.create_disk(machine, DiskSpec(disk_name(instance.pk, disk.pk), disk.size, disk.filesystem))


def _wait_for_end(marks: Path, log: Path) -> dict[str, float]:
    end = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < end:
        times = dict(_read(marks))
        if "end" in times:
            return times
        time.sleep(0.2)
    raise BenchError(f"the workers did not get through the queue; their last words:\n{last_words(log)}")


def _read(marks: Path) -> Iterator[tuple[str, float]]:
    if marks.exists():
        for line in marks.read_text().splitlines():
            name, _, moment = line.partition(" ")
            yield name, float(moment)


def _check_all_done(instance_ids: list[int]) -> None:
    """Raise BenchError unless every job succeeds within `TAIL` seconds.

    At the end mark, the other process may still run a job. If a host had no free slot, the worker sent the
    message again, so it comes after the mark.
    """
    end = time.monotonic() + TAIL
    bad = Job.objects.filter(instance_id__in=instance_ids).exclude(state=Job.State.DONE)
    while (count := bad.count()) and time.monotonic() < end:
        time.sleep(0.1)
    if count:
        worst = bad.values("kind", "state", "step", "attempt", "error").first()
        raise BenchError(f"{count} of {len(instance_ids)} jobs are not done, such as {worst}")


def _rates(times: dict[str, float], count: int) -> JobRates:
    seconds = {name: after - before for (name, before), (_, after) in pairwise(times.items())}
    jobs = [count / taken for name, taken in seconds.items() if name.startswith("jobs")]
    noops = [count / taken for name, taken in seconds.items() if name.startswith("noops")]
    ratios = [job / nothing for job, nothing in zip(jobs, noops, strict=True)]
    return JobRates(*map(statistics.median, (jobs, noops, ratios)))
