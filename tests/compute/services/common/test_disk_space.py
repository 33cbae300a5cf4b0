"""The disk space of an instance during the job that resizes it."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from compute.jobs.data import DiskResizeData, MoveData
from compute.models import Job
from compute.services.common.disk_space import taken
from compute.services.instances import disks
from tests.factories import DiskFactory

HOUR = timedelta(hours=1)
MOVE = {"running": False, "previous_host_id": 1, "host_id": 1, "previous_type_id": "a", "type_id": "b"}
PREVIOUS, SIZE = 2000, 5000


def carried(kind: str, disk_id: int) -> dict:
    if kind == "disk_resize":
        return DiskResizeData(disk_id=disk_id, disk_size=SIZE, previous_disk_size=PREVIOUS).to_json()
    return MoveData(**MOVE, disk_id=disk_id, disk_size=SIZE, previous_disk_size=PREVIOUS).to_json()


@pytest.mark.parametrize("kind", ["disk_resize", "resize", "mutate"])
def test_a_disk_that_grows_takes_its_new_size_at_once(db, kind):
    disk = DiskFactory(size=PREVIOUS)
    Job.objects.create(
        instance=disk.instance, kind=kind, step="disk", deadline_at=Now() + HOUR, data=carried(kind, disk.pk)
    )
    assert taken(disk.instance) == SIZE


def test_so_it_does_where_the_release_before_enqueued_the_job(db):
    disk = DiskFactory(size=PREVIOUS)
    data = {"disk": {"id": disk.pk, "was": PREVIOUS, "size": SIZE}}
    Job.objects.create(
        instance=disk.instance, kind="disk_resize", step="resize", deadline_at=Now() + HOUR, data=data
    )
    assert taken(disk.instance) == SIZE


def test_disks_that_the_same_request_enqueues_count(world):
    instance = world.offline()
    disk = instance.disks.order_by("size").last()
    instance.disks.update(status="ready")
    disk.size -= 1000
    disk.save(update_fields=["size"])
    before = taken(instance)
    disks.resize(world.actor, disk, disk.size + 500)
    assert taken(instance) == before + 500
