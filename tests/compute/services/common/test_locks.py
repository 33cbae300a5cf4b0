"""Instances that change while other sessions wait for their rows: two sessions on a real database."""

import threading
from collections.abc import Callable
from functools import partial

import pytest
from django.db import DatabaseError, connection, transaction

from compute.models import Instance, Job, Volume
from compute.services.instances import configs, instances, power
from compute.services.instances.configs import ConfigChanges
from compute.services.instances.instances import InstanceChanges
from compute.services.volumes import volumes
from compute.services.volumes.places import Place
from compute.worker import engine
from config.errors import DomainError
from tests.factories import ConfigFactory, HostFactory, InstanceTypeFactory
from tests.racing import held_up

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def instance(world) -> Instance:
    return world.offline()


def changed_meanwhile(instance: Instance, act: Callable[[], object]) -> list[Exception]:
    """Call `act` while a transaction, like the end of a resize or a move, changes the instance's type and host.

    Returns the error of `act`, which has waited for that transaction.
    """
    plan = InstanceTypeFactory(id="g6-test-4", memory=4096)
    host = HostFactory(region=instance.region)
    errors: list[Exception] = []

    def run() -> None:
        try:
            act()
        except (DomainError, DatabaseError) as error:
            errors.append(error)
        finally:
            connection.close()

    request = threading.Thread(target=run)
    with transaction.atomic():
        Instance.objects.filter(pk=instance.pk).update(type=plan, host=host)
        request.start()
        assert held_up()
    request.join()
    return errors


def test_boot_finds_an_instance_that_changes(world, instance):
    assert changed_meanwhile(instance, lambda: power.boot(world.actor, instance)) == []
    assert Job.objects.get().kind == "boot"


def test_update_of_an_instance_that_changes_is_not_lost(world, instance):
    changes = InstanceChanges({"group": "changed"})
    assert changed_meanwhile(instance, lambda: instances.update(world.actor, instance, changes)) == []
    assert Instance.objects.get().group == "changed"


def test_profile_is_checked_against_the_new_type(world, instance):
    """The earlier type has less than 4,096 MB."""
    config = ConfigFactory(instance=instance, kernel_id="compute/grub2")
    given = ConfigChanges({"memory_limit": 4096})
    assert changed_meanwhile(instance, lambda: configs.update(world.actor, config, given)) == []
    config.refresh_from_db()
    assert config.memory_limit == 4096


def test_volume_is_attached_to_an_instance_that_changes(world, instance, driver):
    place = Place(compute_id=instance.pk)
    volume = volumes.create(world.actor, volumes.VolumeSpec(label="mine", compute_id=place.compute_id))
    job = Job.objects.get(kind="volume_create")
    assert changed_meanwhile(instance, partial(engine.run, job.pk, driver)) == []
    assert Job.objects.filter(kind="volume_attach", volume=volume.pk).exists()
    assert Volume.objects.get().instance == instance
