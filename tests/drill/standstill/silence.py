"""Calls to one host hang while many of its machines are rebooted. Machines of the other host do not wait."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connection
from django.db.models.functions import Now

from compute.models import Host, Job
from managed.models import Service
from tests.drill.standstill.customers import at_once, ended, finished, wait_for
from tests.drill.standstill.driver import Call
from tests.drill.standstill.findings import Findings, Timed
from tests.drill.standstill.scene import SLOTS, Scene

SHARE = max(1, int(0.5 * SLOTS))
"""Processes that jobs of one host may occupy."""
LIMIT = 5.0
GRACE = 0.5
"""Seconds in which a job that was claimed before its host was known to be away may still call it."""
POLL_SECONDS = 0.05
LATE = """
SELECT max(EXTRACT(epoch FROM statement_timestamp() - next_check_at)) FROM managed_service
 WHERE id = %s AND (lease_until IS NULL OR lease_until < statement_timestamp())
"""


@dataclass
class Seen:
    """The largest number of processes with jobs of the silent host, and the lateness of managed checks.

    `away_since` is the time from which the host was known to be away.
    """

    leased: int = 0
    away_since: float | None = None
    late: float = 0.0
    stopped: threading.Event = field(default_factory=threading.Event)


def play(scene: Scene) -> Findings:
    findings = Findings()
    scene.ensure_crowd(scene.form.reboots)
    silent, other = scene.hosts
    machines = scene.crowd_on(silent)[: scene.form.reboots]
    home = scene.homes[other.pk]
    before = scene.quiet.act("shutdown", home)
    wait_for(lambda: ended(before))
    boot = scene.quiet.act("boot", home)
    wait_for(lambda: ended(boot))
    service = _watched_service(scene)
    with _seen(silent, service) as quiet:
        time.sleep(2)
    scene.disturbance.hang(str(silent.uuid))
    try:
        with _seen(silent, service) as seen:
            begun = time.monotonic()
            at_once([lambda pk=pk: scene.crowd.act("reboot", pk) for pk in machines])
            off = scene.quiet.act("shutdown", home)
            wait_for(lambda: ended(off))
            time.sleep(max(0.0, begun + scene.form.silence - time.monotonic()))
            hung = list(scene.disturbance.calls())
    finally:
        scene.disturbance.answer(str(silent.uuid))
    findings.times += [
        Timed("a shutdown beside a silent host", finished(before), finished(off), LIMIT),
        Timed("checks late beside a silent host", quiet.late, seen.late, LIMIT),
    ]
    _judge(findings, seen, hung, len(machines))
    findings.all_end("the silence of their host")
    findings.all_run(machines)
    return findings


def _judge(findings: Findings, seen: Seen, hung: list[Call], reboots: int) -> None:
    asked = [] if seen.away_since is None else [each for each in hung if each.begun > seen.away_since + GRACE]
    together = most_at_once(asked)
    findings.counts |= {
        "reboots on a silent host": reboots,
        "most processes that wait for a silent host": seen.leased,
        "calls to a host known to be away": len(asked),
        "most calls at once to a host known to be away": together,
    }
    findings.expect(
        seen.leased <= SHARE, f"a silent host kept {seen.leased} of {SLOTS} processes busy, allowed are {SHARE}"
    )
    findings.expect(seen.away_since is not None, "a host that does not answer is not known to be away")
    findings.expect(together <= 1, f"{together} calls at once asked a host that was known to be away")


def most_at_once(calls: list[Call]) -> int:
    """Return the most of these calls that were in progress at one moment."""
    return max((sum(other.begun <= each.begun < other.ended for other in calls) for each in calls), default=0)


def _watched_service(scene: Scene) -> int:
    """Create a service of the quiet customer that answers, so that its checks are due again and again."""
    if found := Service.objects.filter(account=scene.quiet.account_id).first():
        return found.pk
    scene.quiet.ask("POST", "/account/settings/managed-enable")
    body = {"service_type": "tcp", "label": "watched", "address": f"127.0.0.1:{scene.site.port}", "timeout": 5}
    pk = int(scene.quiet.ask("POST", "/managed/services", body)["id"])
    wait_for(lambda: Service.objects.filter(pk=pk, status="ok").exists(), 30)
    return pk


@contextmanager
def _seen(host: Host, service: int) -> Iterator[Seen]:
    """Sample the jobs of this host, and the service, for the length of the block."""
    seen = Seen()
    thread = threading.Thread(target=_watch, args=(host, service, seen), daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        seen.stopped.set()
        thread.join()


def _watch(host: Host, service: int, seen: Seen) -> None:
    jobs = Job.objects.filter(instance__host=host, state__in=Job.LIVE)
    try:
        while not seen.stopped.wait(POLL_SECONDS):
            seen.leased = max(seen.leased, jobs.filter(lease_until__gt=Now()).count())
            if seen.away_since is None:
                since = Host.objects.values_list("unreachable_since", flat=True).get(pk=host.pk)
                seen.away_since = since and since.timestamp()
            with connection.cursor() as cursor:
                cursor.execute(LATE, [service])
                seen.late = max(seen.late, float(cursor.fetchone()[0] or 0))
    finally:
        connection.close()
