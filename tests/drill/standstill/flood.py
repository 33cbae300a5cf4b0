"""One account creates many instances while workers are slow. Another account's boot does not wait for them."""

from datetime import datetime

from django.db.models import Q

from accounts.models import Event
from tests.drill.standstill import messages
from tests.drill.standstill.customers import at_once, ended, started, statuses, unfinished, wait_for
from tests.drill.standstill.findings import Findings, Timed
from tests.drill.standstill.scene import SLOTS, Scene

SLOW = 0.5
"""Seconds that each call of a job takes longer. Jobs arrive faster than workers finish them."""
START_LIMIT = 5.0
OVERTAKEN = 3 * SLOTS
"""Jobs of the flood that workers may take up first, while a boot of another account waits."""


def play(scene: Scene) -> Findings:
    """Flood, and boot during the flood. The messages of the broker are counted meanwhile, and lost in the end."""
    findings, broker = Findings(), messages.Broker.of(scene.site)
    pk = next(iter(scene.homes.values()))
    _shut_down(scene, pk)
    scene.disturbance.slow(SLOW)
    try:
        before = _boot(scene, pk)
        _shut_down(scene, pk)
        with messages.sampled(broker) as most:
            names = [scene.name("flood") for _ in range(scene.form.flood)]
            made = at_once([lambda name=name: scene.crowd.create(name) for name in names])
            during = _boot(scene, pk)
        _judge(findings, scene, before, during)
        findings.counts |= {"most messages that waited": most.waiting, "most live jobs": most.live}
        findings.expect(most.waiting, "no message waited at any moment: nothing was compared")
        findings.expect(
            most.beyond <= 0, f"{most.waiting} messages waited at a moment, {most.beyond} more than jobs lived"
        )
        messages.lost(scene, broker, findings)
    finally:
        scene.disturbance.slow(0)
    findings.all_end("a flood", 240)
    findings.all_run(made)
    return findings


def _boot(scene: Scene, pk: int) -> Event:
    """Boot the instance, which is off. Returns its event once a worker has taken it up."""
    event = scene.quiet.act("boot", pk)
    wait_for(lambda: started(event) is not None)
    return event


def _shut_down(scene: Scene, pk: int) -> None:
    """Shut the instance down, whatever it is doing."""
    wait_for(lambda: not unfinished([pk]))
    if statuses([pk])[pk] == "running":
        off = scene.quiet.act("shutdown", pk)
        wait_for(lambda: ended(off))


def _judge(findings: Findings, scene: Scene, before: Event, during: Event) -> None:
    findings.times.append(Timed("a boot starts beside a flood", started(before), started(during), START_LIMIT))
    if during.started is None:
        findings.wrong.append("the boot beside a flood never started")
        return
    waited = _waiting(scene, during.created)
    overtaken = waited - _waiting(scene, during.started)
    findings.counts |= {"creates that waited at the boot": waited, "creates taken up before it": overtaken}
    findings.expect(waited > 1.5 * OVERTAKEN, f"only {waited} creates waited: there was no flood to compare with")
    findings.expect(
        overtaken <= OVERTAKEN, f"{overtaken} of {waited} creates that waited were taken up before the boot"
    )


def _waiting(scene: Scene, at: datetime) -> int:
    """Return the creates of the flood that no worker had taken up at that moment."""
    creates = Event.objects.filter(account=scene.crowd.account_id, action="compute_create", created__lte=at)
    return creates.filter(Q(started=None) | Q(started__gt=at)).count()
