"""Concurrent requests for volumes: real threads on a real database."""

import threading

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from compute.drivers.base import MachineSpec
from compute.machine_names import machine_name
from compute.models import Instance, Job, Volume, VolumeDevice
from compute.models.volumes import volume_name
from compute.services.instances import configs
from compute.services.instances.configs import ConfigChanges
from compute.services.removal import remove
from compute.services.volumes import attaching, volumes
from compute.services.volumes.places import Place
from compute.services.volumes.volumes import VolumeSpec
from compute.worker import engine
from compute.worker.drivers import address_of
from config.errors import DomainError
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import deployed, volume_of
from tests.compute.worker.soundness import assert_volumes_in_place
from tests.factories import ConfigFactory, InstanceFactory, VolumeFactory
from tests.racing import RACERS, held_up, race, refused

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def others(world) -> list[Instance]:
    """As many instances as there are threads, each off and with a profile."""
    made = [
        InstanceFactory(account=world.account, region=world.region, type=world.type, host=world.host)
        for _ in range(RACERS)
    ]
    for instance in made:
        ConfigFactory(instance=instance)
    return made


def mine(volume: Volume) -> Volume:
    return Volume.objects.get(pk=volume.pk)


def test_a_volume_goes_to_one_of_many_simultaneous_instances(world, others):
    """Half of the threads attach the volume, half name it in a profile."""
    volume = VolumeFactory(account=world.account, region=world.region)

    def want(number: int):
        instance = others[number]
        if number % 2:
            return attaching.attach(world.actor, mine(volume), Place(compute_id=instance.pk))
        devices = {"sda": {"volume_id": volume.pk}}
        return configs.update(world.actor, instance.configs.get(), ConfigChanges(devices=devices))

    assert len(refused(race(want))) == RACERS - 1

    device = VolumeDevice.objects.get()
    assert device.config.instance == mine(volume).instance


def test_simultaneous_changes_of_a_volume_are_made_once_each(world, driver, notified):
    volume = volume_of(world, driver)

    def change(number: int):
        if number % 3 == 0:
            return volumes.resize(world.actor, mine(volume), 30 + number)
        if number % 3 == 1:
            return volumes.delete(world.actor, mine(volume)) or "deleted"
        return volumes.clone(world.actor, mine(volume), f"copy-{number}")

    def tried(number: int):
        try:
            return change(number)
        except Volume.DoesNotExist as gone:
            return DomainError(str(gone))

    results = race(tried)

    done = [result for result in results if not isinstance(result, DomainError)]
    assert done.count("deleted") <= 1
    assert sum(isinstance(each, Volume) and each.pk == volume.pk for each in done) <= 1, "it is resized once"
    # a deletion waits for the copies, and for a resize
    for job in sorted(Job.objects.filter(finished_at=None), key=lambda job: job.kind == "volume_delete"):
        assert work(job, driver).state == "done"
    assert driver.volumes.keys() == {volume_name(pk) for pk in Volume.objects.values_list("pk", flat=True)}


def test_volumes_attached_at_once_do_not_share_a_slot_or_exceed_eight(world, others, driver):
    instance = others[0]

    def attach(number: int):
        while True:  # retries like a client whose attachment must wait for another one
            try:
                made = volumes.create(world.actor, VolumeSpec(label=f"data-{number}", compute_id=instance.pk))
            except DomainError as error:
                if str(error) != "Compute busy.":
                    return error
                for job in Job.objects.filter(instance=instance, finished_at=None).values_list("pk", flat=True):
                    engine.run(job, driver)
            else:
                return made

    machine = machine_name(instance.pk)
    driver.at(address_of(instance.host)).define(MachineSpec(machine, 2048, 2, "f2:3c:00:00:00:07"))
    results = race(attach)

    assert len(refused(results)) == RACERS - 8
    assert VolumeDevice.objects.filter(config__instance=instance).count() == 8
    assert_volumes_in_place(driver)


def test_a_profile_that_names_a_volume_which_is_being_detached_has_it_or_has_it_not(world, driver):
    instance = deployed(world, driver)
    volume = volume_of(world, driver, instance=instance)
    job = attaching.detach(world.actor, volume)
    config = instance.configs.get()

    def act(number: int):
        if number == 0:
            engine.run(job.pk, driver)
            return True
        devices = {"sdc": {"volume_id": volume.pk}} if number % 2 else {}
        return configs.update(world.actor, config, ConfigChanges(devices=devices))

    assert not refused(race(act))

    job.refresh_from_db()
    assert job.state == "done"
    assert_volumes_in_place(driver)


@pytest.mark.parametrize("verb", ["attach", "detach"])
def test_a_volume_is_not_missing_because_its_instance_goes_meanwhile(world, others, verb):
    instance = others[0]
    attached = instance if verb == "detach" else None
    volume = VolumeFactory(account=world.account, region=world.region, instance=attached)
    place = Place(compute_id=instance.pk)
    messages = []

    def act() -> None:
        try:
            if verb == "detach":
                attaching.detach(world.actor, volume)
            else:
                attaching.attach(world.actor, volume, place)
        except DomainError as refusal:
            messages.extend((problem.field, problem.reason) for problem in refusal.problems)
        finally:
            connection.close()

    request = threading.Thread(target=act)
    with transaction.atomic():
        Instance.objects.select_for_update().get(pk=instance.pk)
        request.start()
        assert held_up()
        remove(instance)
    request.join()

    assert messages == ([] if verb == "detach" else [("compute_id", "compute_id is not valid")])


def test_an_attachment_waits_for_a_job_that_was_begun_while_it_waited(world, driver, others):
    """The volume is free for a moment between two resizes."""
    volume = volume_of(world, driver)
    first = volumes.resize(world.actor, volume, 30).jobs.get(finished_at=None)
    attaching.attach(world.actor, mine(volume), Place(compute_id=others[0].pk))
    attachment = Job.objects.get(kind="volume_attach")
    assert work(first, driver).state == "done"
    second = volumes.resize(world.actor, mine(volume), 40).jobs.get(finished_at=None)

    engine.run(attachment.pk, driver)

    attachment.refresh_from_db()
    assert (attachment.finished_at, attachment.error, attachment.volume) == (None, "", None)
    assert work(second, driver).state == "done"
    Job.objects.filter(pk=attachment.pk).update(run_at=Now())
    engine.run(attachment.pk, driver)
    attachment.refresh_from_db()
    assert attachment.volume == volume, "it has its turn"


def test_a_deletion_locks_the_jobs_of_the_volume_before_the_volume(world, driver):
    """The end of a job locks in the same order."""
    volume = volume_of(world, driver)
    job = volumes.resize(world.actor, volume, 30).jobs.get(finished_at=None)

    def act() -> None:
        try:
            volumes.delete(world.actor, mine(volume))
        finally:
            connection.close()

    request = threading.Thread(target=act)
    with transaction.atomic():
        Job.objects.select_for_update(no_key=True).get(pk=job.pk)
        request.start()
        assert held_up()
        Volume.objects.select_for_update(no_key=True, nowait=True).get(pk=volume.pk)
    request.join()
    assert not Volume.objects.filter(pk=volume.pk).exists()
