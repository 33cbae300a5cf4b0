"""Emptying a host: moves are scheduled, counted and cancelled."""

import pytest
from django.utils.timezone import now

from compute.models import Host, HostMigration, Instance
from compute.services.hosts import draining
from compute.services.hosts.placement import place
from config.errors import Invalid
from tests.factories import HostFactory, HostMigrationFactory, InstanceFactory, RegionFactory

pytestmark = pytest.mark.django_db

Status = HostMigration.Status


@pytest.fixture
def host() -> Host:
    return HostFactory()


def instance_on(host: Host) -> Instance:
    return InstanceFactory(host=host, region=host.region)


def test_a_drain_closes_the_host_and_schedules_each_instance_that_has_no_move(host):
    instances = [instance_on(host) for _ in range(3)]
    elsewhere = instance_on(HostFactory(region=host.region))
    HostMigrationFactory(instance=instances[0], reason="Earlier.")
    HostMigrationFactory(instance=instances[1], status=Status.DONE)

    assert draining.drain(host, "Worn out.") == 2

    host.refresh_from_db()
    assert not host.enabled
    pending = HostMigration.objects.filter(status=Status.PENDING)
    assert dict(pending.values_list("instance", "reason")) == {
        instances[0].pk: "Earlier.", instances[1].pk: "Worn out.", instances[2].pk: "Worn out.",
    }  # fmt: skip
    assert not elsewhere.host_migrations.exists()
    assert not pending.filter(when__gt=now()).exists()


def test_a_second_drain_schedules_only_later_instances_and_the_third_is_refused(host):
    instance_on(host)
    assert draining.drain(host, "Worn out.") == 1
    instance_on(host)
    assert draining.drain(host, "Worn out.") == 1
    with pytest.raises(Invalid, match="scheduled to move"):
        draining.drain(host, "Worn out.")


def test_an_empty_host_is_closed_once(host):
    assert draining.drain(host, "Worn out.") == 0
    with pytest.raises(Invalid):
        draining.drain(host, "Worn out.")


def test_stopping_cancels_moves_that_have_not_begun(host):
    begun = HostMigrationFactory(instance=instance_on(host), status=Status.STARTED)
    other = HostMigrationFactory(instance=instance_on(HostFactory(region=host.region)))
    instance_on(host)
    draining.drain(host, "Worn out.")

    assert draining.stop(host) == 1
    assert draining.stop(host) == 0

    for move, status in ((begun, Status.STARTED), (other, Status.PENDING)):
        move.refresh_from_db()
        assert move.status == status
    assert not Host.objects.get(pk=host.pk).enabled


def test_the_progress_counts_instances_by_their_moves(host):
    for status in (Status.STARTED, Status.PENDING, Status.PENDING, Status.CANCELLED, None):
        instance = instance_on(host)
        if status:
            HostMigrationFactory(instance=instance, status=status)
    found = draining.progress(host)
    assert (found.left, found.moving, found.waiting, found.staying) == (5, 1, 2, 2)
    assert [move.status for move in draining.moves_from(host)] == ["started", "pending", "pending"]


def test_the_room_is_that_of_other_open_hosts_of_the_region(world):
    other = HostFactory(region=world.region, memory=8192, vcpus=8, disk=100_000)
    HostFactory(region=world.region, enabled=False)
    HostFactory(region=world.region, maintenance=now())
    HostFactory(region=RegionFactory(id="us-other"))
    place(instance_on(world.host), world.type, world.region.pk, only=world.host)
    place(instance_on(other), world.type, world.region.pk, only=other)
    assert draining.room(world.host) == {
        "memory": (world.type.memory, 8192 - world.type.memory),
        "vcpus": (world.type.vcpus, 8 - world.type.vcpus),
        "disk": (world.type.disk, 100_000 - world.type.disk),
    }


def test_a_host_without_neighbours_has_no_room_to_move_to(host):
    assert draining.room(host) == {"memory": (0, 0), "vcpus": (0, 0), "disk": (0, 0)}
