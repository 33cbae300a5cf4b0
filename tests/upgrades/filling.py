"""Fill a database with some of everything that customers, staff and workers leave behind."""

from compute.models import Instance, IPv6Range, Job
from compute.services.instances import power
from compute.worker import engine
from regions.models import Region
from tests import policy
from tests.world import World, make_world

LIVE = "at work"
"""The label of an instance whose job has not ended."""


def fill() -> None:
    """Fill one account with everything that its lists show, and with instances at rest, in progress and failed."""
    world = make_world()
    scene = policy.scene_of(world)
    for more in (
        policy.due_to_move,
        policy.balancing,
        policy.with_backups,
        policy.sampled,
        policy.questions_answered,
        policy.secret_given,
        policy.code_sent,
        policy.attached,
    ):
        more(scene)
    Region.objects.update(capabilities=[*Region.objects.get().capabilities, "Vlans"])
    block = IPv6Range.objects.get()
    block.pk, block.range, block.prefix, block.kind, block.instance = None, "2001:db8:5000:1::", 116, "pool", None
    block.save(force_insert=True)
    run_all()
    world.create(label="networked", interfaces=({"purpose": "vlan", "label": "back"},))
    running = world.create(label="running")
    run_all()
    assert Instance.objects.get(pk=running.pk).status == Instance.Status.RUNNING
    stopped = world.create(label="stopped")
    run_all()
    power.shutdown(world.actor, Instance.objects.get(pk=stopped.pk))
    run_all()
    under_way(world)


def run_all() -> None:
    """Run every job until none is due. The simulated hypervisor takes no time."""
    while due := list(Job.objects.filter(state__in=Job.LIVE).values_list("pk", flat=True)):
        for pk in due:
            engine.run(pk)


def under_way(world: World) -> None:
    """Leave a job of each of these kinds as a stopped release leaves it: enqueued and not begun."""
    world.create(label=LIVE)
    power.boot(world.actor, Instance.objects.get(label="stopped"))
