"""For each kind, a job of it in a small world, on an instance that it may start from.

A kind that is not in `STAGES` starts from an instance that was deployed and is running or off, with a profile.
"""

from collections.abc import Callable

from compute.jobs.catalogue import KINDS
from compute.jobs.queue import enqueue
from compute.models import Instance, Job
from tests.compute.jobs.memory import MemoryDriver
from tests.compute.jobs.work import work
from tests.world import World

Stage = Callable[[World, MemoryDriver], Job]


def deployed(world: World, driver: MemoryDriver, *, running: bool = True, **fields) -> Instance:
    """An instance deployed from the image, running or off."""
    instance = world.create(private_ip=True, **fields)
    work(instance.jobs.get(), driver)
    if not running:
        work(enqueue("shutdown", instance, world.actor), driver)
    instance.refresh_from_db()
    return instance


def _provision(world: World, driver: MemoryDriver) -> Job:
    return world.create(private_ip=True).jobs.get()


STAGES: dict[str, Stage] = {
    "provision": _provision,
}


def staged(kind: str, world: World, driver: MemoryDriver) -> Job:
    """A job of this kind, at its first step."""
    if kind in STAGES:
        return STAGES[kind](world, driver)
    instance = deployed(world, driver, running="running" in KINDS[kind].starts_from)
    return enqueue(kind, instance, world.actor, data={"config": instance.configs.get().pk})
