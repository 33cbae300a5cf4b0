"""Concurrent changes of profiles and VLANs: real threads on a real database."""

import threading

import pytest
from django.db import connection, transaction

from compute.models import VLAN, Config, Instance, Job
from compute.services.common import locks
from compute.services.instances import configs, power
from compute.services.instances.clones import CloneSpec, clone
from compute.services.instances.configs import ConfigChanges
from compute.services.instances.rebuild import RebuildSpec, rebuild
from compute.services.networking.vlans import MAX_VLANS, vlans_of
from compute.worker import engine
from config.errors import Busy, DomainError
from regions.models import Region
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import deployed
from tests.factories import AddressPoolFactory, ConfigFactory, HostFactory, InstanceFactory
from tests.racing import RACERS, held_up, race
from tests.world import STRONG

pytestmark = pytest.mark.django_db(transaction=True)


def on(*labels: str) -> list[dict]:
    return [{"purpose": "vlan", "label": label, "ipam_address": ""} for label in labels]


@pytest.fixture
def networked(world):
    world.region.capabilities = ["Computes", "Vlans"]
    world.region.save()
    return world


def at_rest(world, driver) -> Instance:
    """An instance that was deployed, and shut down."""
    instance = deployed(world, driver)
    work(power.shutdown(world.actor, instance), driver)
    return Instance.objects.get(pk=instance.pk)


def attach(world, instance: Instance, *labels: str) -> Config:
    return configs.create(
        world.actor, instance, ConfigChanges({"label": "mine"}, devices={}, interfaces=on(*labels))
    )


def made(world, number: int) -> Instance:
    return InstanceFactory(
        account=world.account, region=world.region, type=world.type, host=world.host, label=f"one-{number}"
    )


def named(region: str) -> set[str]:
    return vlans_of(Config.objects.filter(instance__region=region))


def rows(region: str) -> set[str]:
    return set(VLAN.objects.filter(region=region).values_list("label", flat=True))


def test_simultaneous_profiles_stay_within_the_limit_of_vlans(networked):
    instances = [made(networked, number) for number in range(3)]

    results = race(lambda number: attach(networked, instances[number % 3], f"vlan-{number}"))

    assert sum(isinstance(result, Config) for result in results) == MAX_VLANS == RACERS - 2
    assert all("10 VLANs" in str(each) for each in results if isinstance(each, DomainError))
    assert named("us-test") == rows("us-test")
    assert len(rows("us-test")) == MAX_VLANS


def test_creates_clones_and_profiles_together_keep_to_the_limit(networked, driver):
    Region.objects.create(id="us-other", country="us", capabilities=["Computes", "Vlans"])
    HostFactory(region_id="us-other")
    AddressPoolFactory(region_id="us-other", network="203.0.113.0/24", addresses=20)
    source = deployed(networked, driver, interfaces=tuple(on("cloned-1", "cloned-2")))
    there = InstanceFactory(
        account=networked.account, region_id="us-other", type=networked.type, host=networked.host
    )
    for number in range(4):
        attach(networked, there, f"before-{number}-a", f"before-{number}-b")

    def act(number: int):
        if number % 3 == 0:
            return clone(networked.actor, source, CloneSpec(region="us-other"))
        if number % 3 == 1:
            return networked.create(region="us-other", interfaces=tuple(on(f"new-{number}")))
        return attach(networked, there, f"late-{number}")

    results = race(act)

    assert None not in results
    assert named("us-other") == rows("us-other")
    assert len(rows("us-other")) == MAX_VLANS


def test_vlans_that_come_and_go_at_once_are_there_when_they_are_named(networked):
    """A VLAN that loses its last profile makes room for another, but never while a new profile names it."""
    instances = [made(networked, number) for number in range(3)]
    going = [attach(networked, instances[number % 3], f"vlan-{number}") for number in range(MAX_VLANS)]

    def act(number: int):
        if number < 6:
            return configs.delete(networked.actor, going[number]) or True
        return attach(networked, instances[number % 3], f"vlan-{number % 3}", f"new-{number}")

    results = race(act)

    assert None not in results
    assert named("us-test") <= rows("us-test")
    assert len(named("us-test")) <= MAX_VLANS


def test_a_profile_is_deleted_or_booted_but_not_both(world, driver):
    for _ in range(4):
        instance = at_rest(world, driver)
        config = ConfigFactory(instance=instance, disk=instance.disks.earliest("pk"))

        def act(number: int, instance=instance, config=config):
            if number % 2:
                return power.boot(world.actor, Instance.objects.get(pk=instance.pk), config.pk)
            return configs.delete(world.actor, config) or True

        results = race(act)

        assert None not in results
        booted = [result for result in results if isinstance(result, Job)]
        if Config.objects.filter(pk=config.pk).exists():
            (job,) = booted
            assert any(isinstance(result, Busy) for result in results)
            assert work(job, driver).state == "done"
            instance.refresh_from_db()
            assert instance.booted_config_id == config.pk
        else:
            assert booted == []


def test_a_profile_that_is_deleted_as_its_boot_ends_is_not_remembered(world, driver):
    """The end of the boot and the deletion lock the same two rows."""
    for _ in range(4):
        instance = at_rest(world, driver)
        config = ConfigFactory(instance=instance, disk=instance.disks.earliest("pk"))
        job = power.boot(world.actor, instance, config.pk)

        def act(number: int, job=job, config=config):
            if number == 0:
                return engine.run(job.pk, driver) or True
            return configs.delete(world.actor, config) or True

        results = race(act)

        assert None not in results
        job.refresh_from_db()
        instance.refresh_from_db()
        assert (job.state, instance.status) == ("done", "running")
        assert instance.booted_config_id in (config.pk, None)
        assert Config.objects.filter(pk=config.pk).exists() == (instance.booted_config_id is not None)


def test_a_job_that_takes_profiles_away_and_a_request_that_does_so_wait_in_a_line(world, driver):
    instance = deployed(world, driver)
    old = instance.configs.get()
    job = rebuild(world.actor, instance, RebuildSpec(image=world.image.pk, root_pass=STRONG)).jobs.get(
        finished_at=None
    )

    def run() -> None:
        try:
            engine.run(job.pk, driver)
        finally:
            connection.close()

    worker = threading.Thread(target=run)
    with transaction.atomic():
        locks.lock_alive(instance.pk)
        worker.start()
        assert held_up()
        configs.delete(world.actor, old)
    worker.join()

    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
