"""Moves within a region: which one is started, to which host, and which ones wait."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from accounts.models import Event
from compute.models import Host, HostMigration, Instance, Job
from compute.services.hosts import moves
from config.errors import Busy, Invalid
from tests.factories import (
    HostFactory,
    HostMigrationFactory,
    InstanceFactory,
    InstanceTypeFactory,
    RegionFactory,
)

pytestmark = pytest.mark.django_db

Status = HostMigration.Status


@pytest.fixture
def instance(world) -> Instance:
    """An instance at rest, whose host has a neighbour in the region."""
    return world.offline()


@pytest.fixture
def other(world) -> Host:
    return HostFactory(region=world.region)


def test_a_move_without_a_host_goes_to_the_one_with_the_largest_free_share(world, instance, other):
    Host.objects.filter(pk=other.pk).update(memory_used=other.memory // 2)
    freest = HostFactory(region=world.region)
    job = moves.migrate_now(world.actor, instance, None, "Worn out.")
    assert (job.kind, job.data["host"], job.data["previous_host"]) == ("migrate", freest.pk, world.host.pk)
    assert Event.objects.get(pk=job.event_id).message == "Worn out."
    migration = HostMigration.objects.get()
    assert (migration.status, migration.reason, job.data["migration"]) == ("started", "Worn out.", migration.pk)


def test_a_move_at_once_replaces_the_one_that_was_scheduled(world, instance, other):
    later = HostMigrationFactory(instance=instance, when=now() + timedelta(days=1), reason="Planned.")
    moves.migrate_now(world.actor, instance, other, "Urgent.")
    later.refresh_from_db()
    assert (later.status, later.reason) == ("started", "Urgent.")
    assert HostMigration.objects.count() == 1


def test_a_host_of_another_region_or_the_same_host_is_refused(world, instance):
    elsewhere = HostFactory(region=RegionFactory(id="us-other"))
    for host in (elsewhere, world.host):
        with pytest.raises(Invalid, match="another host") as refused:
            moves.migrate_now(world.actor, instance, host, "x")
        assert [problem.field for problem in refused.value.problems] == ["host"]
    assert not HostMigration.objects.exists()


def test_a_busy_instance_is_not_moved(world, instance, other):
    moves.migrate_now(world.actor, instance, other, "x")
    with pytest.raises(Busy):
        moves.migrate_now(world.actor, instance, other, "x")
    assert Job.objects.count() == 1


def test_without_a_scheduled_move_a_region_must_be_named(world, instance, other):
    with pytest.raises(Invalid, match="name the region"):
        moves.migrate(world.actor, instance)
    assert not Job.objects.exists()


def test_only_a_pending_move_is_cancelled(instance):
    migration = HostMigrationFactory(instance=instance)
    moves.cancel(migration)
    assert HostMigration.objects.get().status == "cancelled"
    with pytest.raises(Invalid, match="pending"):
        moves.cancel(migration)


def test_due_moves_are_started_by_the_platform_with_their_reason(world, instance, other):
    HostMigrationFactory(instance=instance, reason="Worn out.")
    HostMigrationFactory(instance=world.offline(label="later"), when=now() + timedelta(hours=1))
    assert moves.start_due() == 1
    job = Job.objects.get(kind="migrate")
    assert job.instance == instance
    assert Event.objects.get(pk=job.event_id).message == f"{moves.SCHEDULED} Worn out."
    assert moves.start_due() == 0


def test_a_refused_move_stays_pending_and_does_not_stop_the_others(world, instance, other):
    """The refused move is older, and its instance has a type that no other host of the region fits."""
    large = InstanceTypeFactory(id="g6-large", memory=other.memory + 1)
    big = InstanceFactory(account=world.account, host=world.host, region=world.region, type=large)
    refused = HostMigrationFactory(instance=big, when=now() - timedelta(hours=1))
    HostMigrationFactory(instance=instance)
    assert moves.start_due() == 1
    refused.refresh_from_db()
    assert refused.status == "pending"
    assert not big.jobs.exists()


def test_refused_moves_do_not_delay_other_moves(world, instance, other, monkeypatch):
    """There are more moves than one run takes. The next run takes a random part of them."""
    monkeypatch.setattr(moves, "MAX_AT_ONCE", 2)
    large = InstanceTypeFactory(id="g6-large", memory=other.memory + 1)
    for _ in range(3):
        big = InstanceFactory(account=world.account, host=world.host, region=world.region, type=large)
        HostMigrationFactory(instance=big)
    HostMigrationFactory(instance=instance)
    assert next(filter(None, (moves.start_due() for _ in range(200)))) == 1
    assert HostMigration.objects.get(status="started").instance == instance
    assert HostMigration.objects.filter(status="pending").count() == 3
