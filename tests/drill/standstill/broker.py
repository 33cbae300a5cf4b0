"""The broker freezes for moments, under load. Afterwards all workers work, with all their processes."""

import itertools
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db.models.functions import Now

from compute.models import Job
from config.db.clock import database_now
from tests.drill.installation import frozen
from tests.drill.standstill.customers import ended, finished, unfinished, wait_for
from tests.drill.standstill.findings import Findings, Timed
from tests.drill.standstill.scene import SLOTS, WORKERS, Scene

FREEZE, PAUSE = 1.6, 0.8
LIMIT = 10.0
"""Seconds from the last freeze until a new boot has ended."""
CUSTOMERS = 4
SLOW = 0.6
POLL_SECONDS = 0.05


def play(scene: Scene) -> Findings:
    findings = Findings()
    scene.ensure_crowd(max(SLOTS, 2 * CUSTOMERS))
    pk = next(iter(scene.homes.values()))
    before = scene.quiet.act("reboot", pk)
    wait_for(lambda: ended(before))
    with _load(scene) as asked:
        for _ in range(scene.form.freezes):
            with frozen(scene.site.brokers()):
                time.sleep(FREEZE)
            time.sleep(PAUSE)
        thawed, begun = database_now(), time.monotonic()
        after = scene.quiet.act("reboot", pk)
        wait_for(lambda: ended(after))
        seconds = time.monotonic() - begun if finished(after) is not None else None
    findings.times.append(Timed("a reboot ends after freezes of the broker", finished(before), seconds, LIMIT))
    findings.counts |= {"freezes of the broker": scene.form.freezes, "reboots accepted meanwhile": len(asked)}
    findings.expect(finished(after) is not None, f"a reboot after the last freeze is {after.status}")
    if not findings.wrong and findings.all_end("freezes of the broker"):
        _judge_workers(scene, thawed, findings)
    return findings


@contextmanager
def _load(scene: Scene) -> Iterator[list[int]]:
    """Let customers reboot their instances, on several connections. Yields the accepted reboots."""
    asked: list[int] = []
    stopped = threading.Event()
    instances = [pk for host in scene.hosts for pk in scene.crowd_on(host)]

    def reboot(number: int) -> None:
        mine = random.Random(number).sample(instances, len(instances))
        for pk in itertools.cycle(mine):
            if stopped.wait(0.1):
                return
            if scene.crowd.try_("POST", f"/compute/instances/{pk}/reboot")[0] == 200:
                asked.append(pk)

    threads = [threading.Thread(target=reboot, args=(number,), daemon=True) for number in range(CUSTOMERS)]
    for each in threads:
        each.start()
    try:
        yield asked
    finally:
        stopped.set()
        for each in threads:
            each.join()


def _judge_workers(scene: Scene, thawed: datetime, findings: Findings) -> None:
    """Check that each worker reports messages, and that as many jobs run at once as there are processes."""
    alive = wait_for(lambda: len(scene.workers_seen(thawed)) == WORKERS, 30)
    findings.expect(alive, f"of {WORKERS} workers only {scene.workers_seen(thawed)} beat since the last freeze")
    working = _at_once(scene)
    findings.counts["processes that work after the freezes"] = working
    findings.expect(
        working == SLOTS, f"of {SLOTS} processes of workers, {working} work after freezes of the broker"
    )


def _at_once(scene: Scene) -> int:
    """Return the most jobs that have a worker at one moment, of reboots on both hosts with slow calls."""
    events = []
    most = 0
    scene.disturbance.slow(SLOW)
    try:
        for host in scene.hosts:
            events += [scene.crowd.act("reboot", pk) for pk in scene.crowd_on(host)[:SLOTS]]
        deadline = time.monotonic() + 20
        while most < SLOTS and time.monotonic() < deadline and not all(ended(each) for each in events[-1:]):
            most = max(most, Job.objects.filter(state__in=Job.LIVE, lease_until__gt=Now()).count())
            time.sleep(POLL_SECONDS)
    finally:
        scene.disturbance.slow(0)
    wait_for(lambda: not unfinished())
    return most
