"""`insert` writes the same rows as the ORM."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from compute.models import ConfigDevice, Disk, Instance, Job
from config.db.inserts import FromNow, draw_keys, insert, insert_together

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(world) -> Instance:
    return world.create()


def row_of(model, pk, *without) -> dict:
    return {key: value for key, value in model.objects.filter(pk=pk).values().get().items() if key not in without}


def test_a_row_is_the_same_as_the_orm_writes(instance):
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


def test_times_from_now_are_those_of_the_statement_on_the_clock_of_the_database(instance):
    """To the microsecond. The clock of the inserting process has no influence. The ORM writes the same."""

    def fields():
        return Job(kind="boot", step="start", notified_at=FromNow(), deadline_at=FromNow(timedelta(hours=3)))

    (ours,) = insert(fields())
    theirs = fields()
    theirs.save()

    for job in Job.objects.filter(pk__in=[ours.pk, theirs.pk]):
        assert job.notified_at == job.created
        assert job.deadline_at == job.created + timedelta(hours=3)


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


def test_a_statement_longer_than_psycopg_caches_is_as_good_as_a_short_one(instance):
    rows = [Disk(instance=instance, label=f"disk {n}", size=n + 1) for n in range(80)]
    for row, key in zip(rows, draw_keys(*[Disk] * 80), strict=True):
        row.pk = key
    insert_together(*rows)
    assert [disk.label for disk in Disk.objects.filter(pk__in=[row.pk for row in rows]).order_by("pk")] == [
        f"disk {n}" for n in range(80)
    ]


def test_values_of_other_types_than_their_field_stores_are_converted(instance):
    (disk,) = insert(Disk(instance=instance, label="text", size="7", filesystem=Disk.Filesystem.RAW))
    disk.refresh_from_db()
    assert (disk.size, disk.filesystem) == (7, "raw")


def test_query_observers_see_inserts(instance, django_assert_num_queries):
    with django_assert_num_queries(2):
        (key,) = draw_keys(Disk)
        insert_together(Disk(pk=key, instance=instance, label="seen", size=1))
