"""A host is away for longer than all attempts of a job. Jobs wait for it, and its machines run again."""

import time

from accounts.models import Event
from compute.drivers.base import Power
from compute.machine_names import machine_name
from compute.models import Job
from tests.drill.standstill.customers import ended, finished, statuses, wait_for
from tests.drill.standstill.findings import Findings, Timed
from tests.drill.standstill.scene import Scene

AWAY = 8.0
"""Seconds of the outage. With the settings of the scene, all attempts of a job are over sooner."""
RUNNING_LIMIT = 20.0
"""Seconds from the host's return until all of its machines run."""
ATTEMPTS = 2
"""Attempts that a job may have used in an outage: one that noticed it, and one more at the host's return."""


def play(scene: Scene) -> Findings:
    """Play the outage with three machines.

    One is rebooted after the host is away, one is rebooting when it loses power, and one only runs. The host
    returns without any of them.
    """
    findings = Findings()
    scene.ensure_crowd(3)
    host = scene.hosts[0]
    waits, caught, bystander = machines = scene.crowd_on(host)[:3]
    before = scene.crowd.act("reboot", bystander)
    wait_for(lambda: ended(before))
    uuid = str(host.uuid)
    scene.hypervisor.script("slow", call="start", machine=machine_name(caught), amount=60)
    rebooting = scene.crowd.act("reboot", caught)
    wait_for(lambda: _is_starting(rebooting), 10)
    scene.hypervisor.script("unreachable", host=uuid, count=None)
    try:
        for pk in machines:
            scene.hypervisor.lose_power(machine_name(pk))
        asked = scene.crowd.act("reboot", waits)
        time.sleep(AWAY)
        _judge_outage(scene, findings, [asked, rebooting], waits)
    finally:
        scene.hypervisor.clear_faults()
    begun = time.monotonic()
    back = wait_for(lambda: _all_run(scene, machines), 60)
    seconds = time.monotonic() - begun if back else None
    findings.times.append(Timed("machines run after an outage", finished(before), seconds, RUNNING_LIMIT))
    findings.expect(back, f"after the outage: {statuses(machines)}, {_powers(scene, machines)}")
    for event in (asked, rebooting):
        findings.expect(
            ended(event) and finished(event), f"a reboot in the outage is {event.status}: {event.message}"
        )
    findings.expect(
        wait_for(lambda: not _outages(scene, waits), 30), "the notification of the outage is there after it"
    )
    findings.all_end("an outage")
    return findings


def _judge_outage(scene: Scene, findings: Findings, events: list[Event], service_id: int) -> None:
    """Check the customer's view while the host is away, and the attempts that jobs have used."""
    jobs = [Job.objects.get(event=event) for event in events]
    findings.counts["attempts used in an outage"] = max(job.attempt for job in jobs)
    for job, event in zip(jobs, events, strict=True):
        event.refresh_from_db()
        findings.expect(
            job.finished_at is None and job.attempt <= ATTEMPTS,
            f"a job in an outage is {job.state} after {job.attempt} attempts: {job.error}",
        )
        findings.expect(event.message, f"event {event.action} says nothing of the outage")
    notified = _outages(scene, service_id)
    findings.counts["notifications of the outage"] = len(notified)
    findings.expect(notified, "there is no notification of the outage")
    strangers = [each for each in scene.quiet.notifications() if _is_about(each, service_id)]
    findings.expect(not strangers, f"another account is notified: {strangers}")


def _outages(scene: Scene, pk: int) -> list[dict]:
    """Return the notifications of an outage that concern this instance."""
    return [each for each in scene.crowd.notifications() if each["type"] == "outage" and _is_about(each, pk)]


def _is_about(notification: dict, pk: int) -> bool:
    entity = notification["entity"]
    return entity is not None and entity["type"] == "compute" and entity["id"] == pk


def _is_starting(event: Event) -> bool:
    return Job.objects.filter(event=event, step="start").exists()


def _powers(scene: Scene, machines: list[int]) -> dict[int, Power]:
    return {pk: scene.hypervisor.power(machine_name(pk)) for pk in machines}


def _all_run(scene: Scene, machines: list[int]) -> bool:
    """Tell whether rows and hypervisor agree that the machines run."""
    by_rows = all(status == "running" for status in statuses(machines).values())
    return by_rows and all(power is Power.ON for power in _powers(scene, machines).values())
