"""Counters and intervals equal the rows of the resources after each operation and each job.

Each operation that writes, and each kind of job, ends with a comparison. So an operation that forgets to record a
change fails here.
"""

import pytest
from django.db import transaction

from accounts.models import ResourceUse
from compute.drivers.base import Refused
from compute.jobs.definition import KINDS
from compute.models import UsageInterval
from compute.services.usage.comparison import compare, repair
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import work_through
from tests.compute.worker.scenarios import staged
from tests.config.api.routes import Route, routes
from tests.policy import Caller, Scene, address, arranged, body_of, scene_of
from tests.world import World, world

__all__ = ["world"]


def test_no_operation_changes_a_resource_without_recording_it(world: World):
    """Fixtures write rows without recording, so the records are repaired before each call."""
    wrong, recorded = [], set()
    with transaction.atomic():
        scene = scene_of(world)
        (owner,) = [caller for caller in scene.callers if caller.name == "owner"]
        for route in routes():
            if route.method == "get":
                continue
            with arranged(route, scene), transaction.atomic():
                repair(world.account.pk)
                before = open_intervals()
                status = call(route, scene, owner)
                if open_intervals() != before:
                    recorded.add(str(route))
                if found := compare(world.account.pk):
                    wrong.append(f"{route} answered {status}: {found}")
                transaction.set_rollback(True)
        transaction.set_rollback(True)
    assert not wrong, "\n".join(wrong)
    assert len(recorded) > 15, sorted(recorded)


def call(route: Route, scene: Scene, caller: Caller) -> int:
    send, path, body = getattr(caller.api, route.method), address(route, scene, caller), body_of(route, scene)
    return (send(path, body) if route.method in ("post", "put") else send(path)).status_code


def open_intervals() -> set[int]:
    return set(UsageInterval.objects.filter(ended=None).values_list("pk", flat=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("refused", [False, True])
def test_no_job_changes_a_resource_without_recording_it(world: World, kind, refused):
    """Each kind of job runs to its end, and once more until its last effect is refused, so that it rolls back."""
    driver = MemoryDriver()
    job = staged(kind, world, driver)
    assert compare(world.account.pk) == {}, "after the requests"
    if refused:
        driver.before = failing_at(len(driver.calls), Refused("Not possible."), times=1)
    work_through(job, driver)
    assert compare(world.account.pk) == {}, "after the job"
    assert ResourceUse.objects.get(pk=world.account.pk).difference == {}
