"""The rows that `make serve` adds to a seeded database."""

from collections.abc import Callable

import pytest

from accounts.actors import Actor
from accounts.models import Account, Event, PersonalToken, User
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


@pytest.mark.parametrize("separate", [True, False])
def test_only_with_an_account_of_its_own_the_staff_user_has_a_token(world, separate):
    known = with_demo_account(Logins(owner="o", staff="for-staff", restricted="r"), staff_account=separate)
    staff = User.objects.get(username="staff")
    assert staff.is_superuser
    assert staff.check_password("for-staff")
    assert (staff.account and staff.account.company) == ("Staff" if separate else None)
    assert PersonalToken.objects.filter(user=staff).exists() is separate
    assert bool(known.staff_token) is separate
    again = with_demo_account(known, staff_account=separate)
    assert again == known
