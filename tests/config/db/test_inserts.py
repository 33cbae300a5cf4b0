"""`insert` leaves the same rows behind as the ORM's own way."""

import pytest
from django.utils.timezone import now

from compute.models import ConfigDevice, Disk, Instance, Job
from config.db.inserts import insert

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(world) -> Instance:
    return world.create()


def row_of(model, pk, *without) -> dict:
    return {key: value for key, value in model.objects.filter(pk=pk).values().get().items() if key not in without}


def test_a_row_is_what_the_orm_would_write(instance):
    def fields():
        return Disk(instance=instance, label="data", size=7, filesystem="raw")

    (ours,) = insert(fields())
    theirs = fields()
    theirs.save()

    unlike = ("id", "created", "updated")
    assert row_of(Disk, ours.pk, *unlike) == row_of(Disk, theirs.pk, *unlike)
    assert ours.created is not None
    assert not ours._state.adding


def test_arrays_json_and_database_defaults_are_written(instance):
    instance.jobs.all().delete()

    (job,) = insert(Job(instance=instance, kind="boot", step="start", data={"a": [1]}, deadline_at=now()))

    job.refresh_from_db()
    assert job.data == {"a": [1]}
    assert job.created is not None
    assert job.run_at is not None


def test_many_rows_get_their_keys_in_order(instance):
    disks = insert(*(Disk(instance=instance, label=f"disk {n}", size=n + 1) for n in range(5)))

    assert [Disk.objects.get(pk=disk.pk).label for disk in disks] == [f"disk {n}" for n in range(5)]


def test_a_given_key_is_kept(instance):
    (disk,) = insert(Disk(id=987654, instance=instance, label="kept", size=1))

    assert disk.pk == 987654
    assert Disk.objects.get(pk=987654).label == "kept"


def test_constraints_hold(instance):
    from django.db import IntegrityError, transaction

    device = ConfigDevice.objects.first()
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(ConfigDevice(config=device.config, slot=device.slot, disk=instance.disks.last()))
