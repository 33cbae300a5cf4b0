"""The rows that `make serve` adds to a seeded database."""

from collections.abc import Callable

import pytest

from accounts.actors import Actor
from accounts.models import Account, Event
from compute.models import Host, Image, Instance, InstanceType
from compute.services.instances.instances import delete
from config.laptop.serving.demo import Logins
from config.management.commands.serve import with_demo_account
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import finish, work
from tests.world import World, make_catalogue_world


@pytest.fixture
def world(db) -> World:
    return make_catalogue_world()


def start() -> list[Instance]:
    """Return the instances of the demo account after a start of `make serve`."""
    with_demo_account(Logins(owner="for-owner", staff="for-staff", restricted="for-restricted"))
    return list(Instance.objects.filter(account=Account.objects.get(company="Demo")))


def test_the_first_start_creates_an_instance_that_its_workers_boot(world):
    [example] = start()
    assert (example.label, example.region_id, example.type_id) == ("example", "us-east", "g6-nanode-1")
    assert finish(example, MemoryDriver()).state == "done"
    assert example.status == "running"
    assert Event.objects.get(action="compute_create").username == "owner"


def test_later_starts_create_no_instance_also_if_the_first_was_deleted(world):
    driver = MemoryDriver()
    [example] = start()
    assert start() == [example]
    finish(example, driver)
    work(delete(Actor.platform(example.account_id), example), driver)
    assert start() == []


def test_a_host_on_this_machine_gets_no_instance(world, settings):
    settings.HYPERVISOR = "QEMU"
    assert start() == []


@pytest.mark.parametrize(
    "change",
    [
        lambda: Host.objects.all().delete(),
        lambda: Host.objects.update(driver="qemu"),
        lambda: Host.objects.update(enabled=False),
        lambda: Image.objects.all().delete(),
        lambda: InstanceType.objects.all().delete(),
    ],
    ids=["no hosts", "real hosts", "no free host", "no image", "no type"],
)
def test_a_catalogue_of_the_operators_own_gets_no_instance(world, change: Callable[[], object]):
    change()
    assert start() == []
