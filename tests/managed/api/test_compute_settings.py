"""Staff's access to each compute: the defaults, the choices, and the effects of deleted addresses."""

import pytest

from accounts.actors import Actor
from accounts.models import Account, Event, User
from compute.models import Address, Instance
from compute.services.networking import assign as ips
from compute.services.networking.reassign import Assignment, assign
from managed.models import ComputeSettings
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import staged
from tests.factories import InstanceFactory

pytestmark = pytest.mark.django_db
PATH = "/v4/managed/compute-settings"
DEFAULTS = {"access": True, "user": None, "ip": "any", "port": None}
CHOSEN = {"access": False, "user": "admin", "ip": None, "port": 2222}


@pytest.fixture
def compute(world) -> Instance:
    Account.objects.filter(pk=world.account.pk).update(managed=True)
    made = world.create(label="web", private_ip=True)
    Instance.objects.filter(pk=made.pk).update(status=Instance.Status.RUNNING, group="front")
    Account.objects.filter(pk=world.account.pk).update(extra_ipv4=5)
    made.refresh_from_db()
    return made


@pytest.fixture
def api(client_for, world):
    return client_for(User.objects.get(pk=world.actor.user_id))


@pytest.fixture
def path(compute) -> str:
    return f"{PATH}/{compute.pk}"


def choose(api, path, **changes):
    return api.put(path, {"ssh": changes})


def test_every_compute_has_the_defaults(api, compute, path):
    entry = {"id": compute.pk, "label": "web", "group": "front", "ssh": DEFAULTS}
    assert api.get(PATH).json()["data"] == [entry]
    assert api.get(path).json() == entry
    assert not ComputeSettings.objects.exists()


def test_settings_are_stored_and_have_one_event(api, compute, path):
    wish = {**CHOSEN, "ip": compute.ipv4[0]}
    before = Event.objects.count()
    assert choose(api, path, **wish).json()["ssh"] == wish
    assert choose(api, path, **wish).json()["ssh"] == wish
    assert api.get(PATH).json()["data"][0]["ssh"] == wish
    assert Event.objects.count() == before + 1
    assert choose(api, path, user=None).json()["ssh"] == {**wish, "user": None}
    assert api.put(path, {}).json()["ssh"]["port"] == 2222


def test_ipv6_and_private_addresses_are_the_computes_too(api, compute, path):
    own = compute.ipv6.partition("/")[0]
    assert choose(api, path, ip=own).json()["ssh"]["ip"] == own
    assert choose(api, path, ip=compute.ipv4[1]).json()["ssh"]["ip"] == compute.ipv4[1]
    assert choose(api, path, ip="any").json()["ssh"]["ip"] == "any"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"user": "x" * 33}, "ssh.user"),
        ({"user": "root\nreboot"}, "ssh.user"),
        ({"user": "root\x1b[201~"}, "ssh.user"),
        ({"port": 0}, "ssh.port"),
        ({"port": 65536}, "ssh.port"),
        ({"port": "22"}, "ssh.port"),
        ({"ip": "203.0.113.200"}, "ssh.ip"),
        ({"ip": "here"}, "ssh.ip"),
        ({"access": "yes"}, "ssh.access"),
    ],
    ids=str,
)
def test_bad_input_names_the_field_and_changes_nothing(api, path, changes, field):
    answer = choose(api, path, **{"access": False, **changes})
    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert api.get(path).json()["ssh"] == DEFAULTS


def test_all_errors_are_reported_together(api, path):
    answer = choose(api, path, ip="here", port=0, user="x" * 33)
    assert {each["field"] for each in answer.json()["errors"]} == {"ssh.ip", "ssh.port", "ssh.user"}


def test_computes_of_another_account_have_no_entry(api, path):
    other = f"{PATH}/{InstanceFactory().pk}"
    assert (api.get(other).status_code, api.put(other, {}).status_code) == (404, 404)
    assert api.get(PATH).json()["results"] == 1


def test_taking_an_address_off_the_compute_brings_the_defaults_back(api, world, compute, path):
    extra = ips.add(world.actor, compute, public=True)
    choose(api, path, **{**CHOSEN, "ip": extra.address})
    ips.delete(world.actor, Address.objects.get(pk=extra.pk))
    assert api.get(path).json()["ssh"] == DEFAULTS


def test_an_address_that_is_assigned_elsewhere_is_chosen_no_more_but_access_stays(api, world, compute, path):
    other = world.create(label="other")
    Instance.objects.filter(pk=other.pk).update(status=Instance.Status.RUNNING)
    extra = ips.add(world.actor, compute, public=True)
    choose(api, path, **{**CHOSEN, "ip": extra.address})
    assign(world.actor, world.region.pk, [Assignment(extra.address, other.pk)])
    assert api.get(path).json()["ssh"] == {**DEFAULTS, "access": False}


def test_a_compute_that_moves_to_another_region_is_not_looked_for_where_it_was(api, world, compute):
    driver = MemoryDriver()
    job = staged("migrate_region", world, driver)
    path = f"{PATH}/{job.instance_id}"
    choose(api, path, **{**CHOSEN, "ip": Instance.objects.get(pk=job.instance_id).ipv4[0]})
    work(job, driver)
    assert Instance.objects.get(pk=job.instance_id).region_id == "us-other"
    assert api.get(path).json()["ssh"] == {**DEFAULTS, "access": False}


def test_other_addresses_may_come_and_go(api, world, compute, path):
    other = world.create(label="other")
    Instance.objects.filter(pk=other.pk).update(status=Instance.Status.RUNNING)
    extra = ips.add(world.actor, compute, public=True)
    wish = {**CHOSEN, "ip": compute.ipv4[0]}
    choose(api, path, **wish)
    assign(world.actor, world.region.pk, [Assignment(extra.address, other.pk)])
    ips.add(world.actor, compute, public=True)
    assert api.get(path).json()["ssh"] == wish


def test_the_settings_go_with_the_compute(api, world, compute, path):
    choose(api, path, port=22)
    Address.objects.filter(instance=compute).update(instance=None)
    compute.delete()
    assert not ComputeSettings.objects.exists()
    assert isinstance(world.actor, Actor)
