"""The API of clones: what they copy, what they refuse, and what the source shows meanwhile."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now

from accounts.models import Event, GlobalGrants, Grant, User
from compute.drivers.base import DriverError, Ended, Progress
from compute.machine_names import disk_name, machine_name
from compute.models import Address, Config, Disk, Instance, Job
from compute.services.instances import instances, power
from compute.services.instances.clones import CloneSpec, clone
from compute.worker import engine
from config.errors import DomainError
from regions.models import Region
from tests.client import errors
from tests.compute.memory_driver import failing_at
from tests.compute.run_jobs import work
from tests.compute.watching import watch
from tests.compute.worker.scenarios import deployed
from tests.factories import AddressPoolFactory, DiskFactory, HostFactory, InstanceFactory, InstanceTypeFactory

pytestmark = pytest.mark.django_db

INSTANCES = "/v4/compute/instances"
VLAN = [{"purpose": "public"}, {"purpose": "vlan", "label": "backend", "ipam_address": "10.1.2.3/24"}]


@pytest.fixture
def restricted(world) -> User:
    user = User.objects.create_user("worldhelper", account=world.account, restricted=True)
    GlobalGrants.objects.create(user=user, add_computes=True)
    return user


@pytest.fixture
def source(world, driver) -> Instance:
    return deployed(world, driver, label="source", tags=("production",), group="web")


@pytest.fixture
def target(world, driver) -> Instance:
    """An existing instance of the same account, off and empty."""
    return deployed(world, driver, label="target", image=None)


@pytest.fixture
def elsewhere(world) -> Region:
    """Another region with a host and addresses, without VLANs."""
    region = Region.objects.create(id="us-other", country="us", capabilities=["Computes"])
    HostFactory(region=region)
    AddressPoolFactory(region=region, network="203.0.113.0/24", addresses=20)
    return region


def path_of(instance: Instance) -> str:
    return f"{INSTANCES}/{instance.pk}"


def finish(made: dict, driver) -> Instance:
    """Return the target of a clone, after its job has ended."""
    job = Job.objects.get(instance_id=made["id"], finished_at=None)
    work(job, driver)
    return Instance.objects.get(pk=made["id"])


# --- into a new instance ---------------------------------------------------------------------------------


def test_a_clone_is_a_new_instance_like_the_source(api, source, driver):
    api.put(path_of(source), {"watchdog_enabled": False, "alerts": {"io": 77, "cpu": 33}})

    response = api.post(f"{path_of(source)}/clone", {})

    assert response.status_code == 200
    made = response.json()
    assert made["id"] != source.pk
    assert made["status"] == "provisioning"
    assert made["label"] == f"compute{made['id']}"
    assert (made["type"], made["region"], made["image"]) == (source.type_id, source.region_id, source.image_id)
    assert (made["tags"], made["group"]) == (["production"], "web")
    assert (made["watchdog_enabled"], made["alerts"]["io"], made["alerts"]["cpu"]) == (False, 77, 33)
    assert made["backups"]["enabled"] is False
    assert len(made["ipv4"]) == 1
    assert made["ipv4"][0] not in source.ipv4
    assert made["ipv6"] != source.ipv6
    assert api.get(path_of(source)).json()["status"] == "cloning"
    assert api.get(f"{INSTANCES}/{made['id']}").json() == made


def test_disks_and_profiles_come_along_byte_for_byte(api, source, driver):
    Config.objects.filter(instance=source).update(comments="mine", run_level="single", interfaces=VLAN[:1])

    made = api.post(f"{path_of(source)}/clone", {}).json()
    target = finish(made, driver)

    assert target.status == "offline"
    kept = ("label", "size", "filesystem", "status")
    originals, copies = list(source.disks.order_by("pk")), list(target.disks.order_by("pk"))
    assert [[getattr(disk, name) for name in kept] for disk in copies] == [
        [getattr(disk, name) for name in kept] for disk in originals
    ]
    for original, copy in zip(originals, copies, strict=True):
        spec = driver.machines[machine_name(target.pk)]["disks"][disk_name(target.pk, copy.pk)]
        assert spec.copy_of == (machine_name(source.pk), disk_name(source.pk, original.pk))
    (profile,) = target.configs.all()
    assert (profile.label, profile.kernel_id) == (source.configs.get().label, "compute/grub2")
    assert (profile.comments, profile.run_level, profile.interfaces) == ("mine", "single", VLAN[:1])
    assert {device.slot: device.disk_id for device in profile.devices.all()} == {
        "sda": copies[0].pk,
        "sdb": copies[1].pk,
    }


def test_the_event_is_about_the_source_and_names_the_target(api, source, driver):
    made = api.post(f"{path_of(source)}/clone", {"label": "the-copy"}).json()
    job = Job.objects.get(instance_id=made["id"])
    event = api.get("/v4/account/events", {"action": "compute_clone"}).json()["data"][0]
    assert (event["status"], event["percent_complete"]) == ("scheduled", 0)
    assert event["entity"]["id"] == source.pk
    assert event["secondary_entity"] == {
        "id": made["id"],
        "label": "the-copy",
        "type": "compute",
        "url": f"/v4/compute/instances/{made['id']}",
    }

    work(job, driver)

    event = api.get(f"/v4/account/events/{event['id']}").json()
    assert (event["status"], event["percent_complete"]) == ("finished", 100)


@pytest.mark.parametrize("running", [True, False])
def test_the_source_has_its_former_status_after_a_clone(running, api, world, driver):
    source = deployed(world, driver, running=running)

    finish(api.post(f"{path_of(source)}/clone", {}).json(), driver)

    source.refresh_from_db()
    assert source.status == ("running" if running else "offline")


def test_instances_stopped_by_maintenance_still_wait_after_a_clone(api, world, driver, target):
    source = deployed(world, driver, running=False)
    Instance.objects.filter(pk__in=(source.pk, target.pk)).update(status="stopped")

    first = api.post(f"{path_of(source)}/clone", {"compute_id": target.pk}).json()
    second = api.post(f"{path_of(source)}/clone", {}).json()

    assert (finish(first, driver).status, finish(second, driver).status) == ("stopped", "offline")
    source.refresh_from_db()
    assert source.status == "stopped"


@pytest.mark.parametrize(("why", "status"), [(Ended.GUEST, "offline"), (Ended.HOST, "booting")])
def test_a_source_that_went_off_meanwhile_is_the_watchdogs(api, source, driver, why, status):
    """After the clone, the watchdog treats it like any machine that is off and should run. An event has the
    reason."""
    Instance.objects.filter(pk=source.pk).update(watchdog_enabled=False)
    made = api.post(f"{path_of(source)}/clone", {}).json()
    driver.fall(machine_name(source.pk), why)

    finish(made, driver)
    Instance.objects.update(updated=Now() - timedelta(minutes=1))
    watch(driver)

    source.refresh_from_db()
    assert source.status == status


def test_a_copy_that_takes_long_shows_how_far_it_has_come(api, source, driver):
    made = api.post(f"{path_of(source)}/clone", {}).json()
    whole = driver.create_disk
    driver.create_disk = lambda machine, disk, source=None: Progress(percent=40, wait=3)
    job = Job.objects.get(instance_id=made["id"])

    engine.run(job.pk, driver)

    job.refresh_from_db()
    assert job.state == "active"
    assert 0 < job.event.percent_complete < 100
    driver.create_disk = whole
    assert finish(made, driver).status == "offline"


def test_a_copy_shows_rate_and_time_left(api, source, driver):
    made = api.post(f"{path_of(source)}/clone", {}).json()
    driver.create_disk = lambda machine, disk, source=None: Progress(
        percent=40, wait=3, rate=101.26, remaining=61.7
    )

    engine.run(Job.objects.get(instance=made["id"]).pk, driver)

    event = Event.objects.get(action="compute_clone")
    assert (event.rate, event.time_remaining) == ("101.3 MB/s", 62)


def test_given_fields_replace_those_of_the_source(api, source, driver, elsewhere):
    InstanceTypeFactory(id="g6-big-8", disk=99999, vcpus=8)

    made = api.post(
        f"{path_of(source)}/clone",
        {"region": "us-other", "type": "g6-big-8", "label": "big-one", "group": ""},
    ).json()

    assert (made["region"], made["type"], made["label"], made["group"]) == ("us-other", "g6-big-8", "big-one", "")
    assert made["ipv4"][0].startswith("203.0.113.")
    assert made["ipv6"] is None
    assert made["alerts"] == api.get(path_of(source)).json()["alerts"]
    target = finish(made, driver)
    assert target.host.region_id == "us-other"
    assert driver.machines[machine_name(target.pk)]["host"] == str(target.host.uuid)


def test_named_disks_are_copied_with_those_of_the_named_profiles(api, source, world):
    extra = DiskFactory(instance=source, label="extra", size=0)
    swap = source.disks.get(filesystem="swap")

    def labels(**body) -> list[str]:
        response = api.post(f"{path_of(source)}/clone", body)
        assert response.status_code == 200, response.content
        rows = Disk.objects.filter(instance_id=response.json()["id"]).order_by("pk")
        return [disk.label for disk in rows]

    of_profile = [disk.label for disk in source.disks.exclude(pk=extra.pk).order_by("pk")]
    assert labels() == of_profile
    assert labels(disks=[extra.pk]) == [*of_profile, "extra"]
    assert labels(configs=[], disks=[swap.pk, swap.pk]) == [swap.label]
    assert labels(configs=[source.configs.get().pk], disks=[]) == of_profile
    assert labels(configs=[], disks=None) == []
    assert Config.objects.filter(instance__status="provisioning").count() == 3


def test_an_empty_instance_can_be_cloned(api, target, driver):
    copy = finish(api.post(f"{path_of(target)}/clone", {}).json(), driver)
    assert (copy.status, copy.disks.count()) == ("offline", 0)


# --- into an instance that is there ----------------------------------------------------------------------


def test_a_clone_into_an_instance_keeps_its_disks(api, source, target, driver, world):
    InstanceTypeFactory(id="g6-big-8", disk=99999)
    Instance.objects.filter(pk=target.pk).update(type_id="g6-big-8")
    before = DiskFactory(instance=target, label="before")
    driver.machines[machine_name(target.pk)]["disks"][disk_name(target.pk, before.pk)] = None

    made = api.post(f"{path_of(source)}/clone", {"compute_id": target.pk}).json()

    assert (made["id"], made["status"]) == (target.pk, "provisioning")
    assert (made["label"], made["ipv4"], made["tags"]) == ("target", target.ipv4, [])
    finished = finish(made, driver)
    assert finished.status == "offline"
    assert [disk.label for disk in finished.disks.order_by("pk")] == ["before", "Test 11 Disk", "512MB Swap Image"]
    assert not finished.disks.exclude(status="ready").exists()
    assert finished.configs.get().devices.count() == 2
    source.refresh_from_db()
    assert source.status == "running"


def test_a_target_that_runs_goes_on_running(api, source, world, driver):
    target = deployed(world, driver, label="busy-one")

    made = api.post(f"{path_of(source)}/clone", {"compute_id": target.pk, "configs": []}).json()

    assert made["status"] == "provisioning"
    assert finish(made, driver).status == "running"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"region": "us-elsewhere"}, "region"),
        ({"type": "g6-other-1"}, "type"),
        ({"label": "a-label"}, "label"),
        ({"group": "a"}, "group"),
        ({"backups_enabled": True}, "backups_enabled"),
    ],
)
def test_fields_of_a_new_instance_are_refused_with_a_target(body, field, api, source, target):
    assert field in errors(api.post(f"{path_of(source)}/clone", {"compute_id": target.pk, **body}))


def test_the_targets_own_region_and_type_may_be_repeated(api, source, target):
    body = {"compute_id": target.pk, "region": target.region_id, "type": target.type_id}
    assert api.post(f"{path_of(source)}/clone", body).status_code == 200


def test_a_target_without_room_is_refused(api, source, target):
    DiskFactory(instance=target, size=1)
    refused = errors(api.post(f"{path_of(source)}/clone", {"compute_id": target.pk}))
    assert refused == {"compute_id": "The disks to clone need 25600 MB, and it has 25599 MB left."}


def test_a_busy_target_is_refused(api, world, source, target):
    Instance.objects.filter(pk=target.pk).update(status="rebooting")
    assert errors(api.post(f"{path_of(source)}/clone", {"compute_id": target.pk})) == {None: "Compute busy."}
    source.refresh_from_db()
    assert source.status == "running"


@pytest.mark.parametrize("whose", ["source", "stranger", "nobody"])
def test_only_another_instance_of_the_account_can_be_the_target(whose, api, source):
    other = InstanceFactory().pk
    pk = {"source": source.pk, "stranger": other, "nobody": 10**12}[whose]
    refused = errors(api.post(f"{path_of(source)}/clone", {"compute_id": pk, "disks": [0]}))
    assert refused == {"compute_id": "compute_id is not valid", "disks[0]": "disks is not valid"}


# --- refusals --------------------------------------------------------------------------------------------


def test_everything_that_is_wrong_is_named_at_once(api, source, target):
    foreign = DiskFactory(instance=target)
    body = {
        "region": "nowhere",
        "type": "nothing",
        "disks": [source.disks.first().pk, foreign.pk],
        "configs": [10**18, source.configs.get().pk],
    }
    assert set(errors(api.post(f"{path_of(source)}/clone", body))) == {"region", "type", "disks[1]", "configs[0]"}
    assert Instance.objects.count() == 2
    source.refresh_from_db()
    assert source.status == "running"


def test_a_type_that_is_too_small_is_refused(api, source):
    InstanceTypeFactory(id="g6-tiny-1", disk=25599)
    assert "25600 MB" in errors(api.post(f"{path_of(source)}/clone", {"type": "g6-tiny-1"}))["type"]


def test_a_region_that_lacks_the_capability_is_refused(api, source, elsewhere):
    InstanceTypeFactory(id="g1-gpu-1", disk=99999, type_class="gpu")
    body = {"region": "us-other", "type": "g1-gpu-1"}
    assert "GPU Computes" in errors(api.post(f"{path_of(source)}/clone", body))["region"]


def test_a_vlan_does_not_go_where_there_are_none(api, source, elsewhere):
    Config.objects.filter(instance=source).update(interfaces=VLAN)
    refused = errors(api.post(f"{path_of(source)}/clone", {"region": "us-other"}))
    assert "another region or contact support" in refused["region"].lower()
    assert api.post(f"{path_of(source)}/clone", {"region": "us-other", "configs": []}).status_code == 200


def test_the_vlans_of_the_profiles_come_into_being_there(api, source, elsewhere):
    Config.objects.filter(instance=source).update(interfaces=VLAN)
    Region.objects.filter(pk="us-other").update(capabilities=["Computes", "Vlans"])
    for _ in range(2):
        assert api.post(f"{path_of(source)}/clone", {"region": "us-other"}).status_code == 200
    assert source.account.vlans.get().label == "backend"


def test_a_label_that_is_taken_is_refused(api, source):
    refused = errors(api.post(f"{path_of(source)}/clone", {"label": "source"}))
    assert refused == {"label": "Label must be unique among your computes"}
    source.refresh_from_db()
    assert source.status == "running"


def test_a_region_without_addresses_is_refused_and_nothing_remains(api, source, elsewhere):
    Address.objects.filter(region=elsewhere).delete()
    assert "region" in errors(api.post(f"{path_of(source)}/clone", {"region": "us-other"}))
    source.refresh_from_db()
    assert source.status == "running"
    assert Instance.objects.count() == 1
    assert not Job.objects.filter(kind="clone").exists()


def test_a_source_at_work_is_busy(api, source, world):
    power.reboot(world.actor, source)
    assert errors(api.post(f"{path_of(source)}/clone", {})) == {None: "Compute busy."}


@pytest.mark.parametrize("action", ["boot", "reboot", "shutdown"])
def test_a_source_that_is_cloning_does_nothing_else(action, api, source):
    api.post(f"{path_of(source)}/clone", {})
    assert errors(api.post(f"{path_of(source)}/{action}", {})) == {None: "Compute busy."}
    refused = errors(api.delete(path_of(source)))
    assert refused == {None: "Cannot delete a compute that is cloning."}


# --- several at once -------------------------------------------------------------------------------------


def test_the_source_shows_cloning_until_the_last_of_five_has_ended(api, source, driver):
    made = [api.post(f"{path_of(source)}/clone", {}).json() for _ in range(5)]

    refused = errors(api.post(f"{path_of(source)}/clone", {}))
    assert refused == {None: "At most 5 clones of a compute run at once."}

    for number, copy in enumerate(made):
        source.refresh_from_db()
        assert source.status == "cloning", number
        finish(copy, driver)
    source.refresh_from_db()
    assert source.status == "running"
    assert api.post(f"{path_of(source)}/clone", {}).status_code == 200


def test_when_one_ends_another_may_begin(api, source, driver):
    made = [api.post(f"{path_of(source)}/clone", {}).json() for _ in range(5)]
    finish(made[2], driver)
    assert api.post(f"{path_of(source)}/clone", {}).status_code == 200
    assert errors(api.post(f"{path_of(source)}/clone", {}))


def test_deleting_a_target_ends_its_clone_and_lets_the_source_go(api, world, source, driver):
    made = api.post(f"{path_of(source)}/clone", {}).json()
    live = Job.objects.get(instance_id=made["id"])
    deletion = instances.delete(world.actor, Instance.objects.get(pk=made["id"]))

    work(live, driver)
    source.refresh_from_db()
    assert source.status == "running"
    work(deletion, driver)

    assert not Instance.objects.filter(pk=made["id"]).exists()
    assert Event.objects.get(action="compute_clone").status == "failed"
    assert driver.machines.keys() == {machine_name(source.pk)}


@pytest.mark.parametrize("into", [False, True])
def test_a_clone_that_fails_leaves_source_and_target_as_they_were(into, api, source, target, driver):
    addresses = Address.objects.filter(instance__isnull=False).count()
    made = api.post(f"{path_of(source)}/clone", {"compute_id": target.pk} if into else {}).json()
    driver.before = failing_at(len(driver.calls) + (1 if into else 2), DriverError("The disk is broken."))

    work(Job.objects.get(instance_id=made["id"], finished_at=None), driver)

    assert Event.objects.get(action="compute_clone").message == "The disk is broken."
    assert set(Instance.objects.values_list("pk", "status")) == {(source.pk, "running"), (target.pk, "offline")}
    assert Address.objects.filter(instance__isnull=False).count() == addresses
    assert not Disk.objects.filter(instance=target).exists()
    assert not Config.objects.filter(instance=target).exists()
    assert driver.disks(machine_name(target.pk)) == frozenset()
    assert driver.machines.keys() == {machine_name(source.pk), machine_name(target.pk)}


# --- who may ---------------------------------------------------------------------------------------------


def test_a_restricted_user_needs_to_see_the_source_and_to_add_computes(client_for, restricted, source, world):
    api = client_for(restricted)
    assert api.post(f"{path_of(source)}/clone", {}).status_code == 404
    Grant.objects.create(user=restricted, entity_type="compute", entity_id=source.pk, permissions="read_only")
    made = api.post(f"{path_of(source)}/clone", {}).json()
    assert api.delete(f"{INSTANCES}/{made['id']}").status_code == 200, "it is theirs"
    assert api.delete(path_of(source)).status_code == 403

    GlobalGrants.objects.filter(user=restricted).update(add_computes=False)
    assert api.post(f"{path_of(source)}/clone", {}).status_code == 403


def test_a_restricted_users_clone_has_no_tags(client_for, restricted, source):
    Grant.objects.create(user=restricted, entity_type="compute", entity_id=source.pk, permissions="read_only")
    made = client_for(restricted).post(f"{path_of(source)}/clone", {}).json()
    assert made["tags"] == []


def test_a_target_needs_read_write(client_for, restricted, source, target):
    api = client_for(restricted)
    Grant.objects.create(user=restricted, entity_type="compute", entity_id=source.pk, permissions="read_only")
    body = {"compute_id": target.pk}
    assert "compute_id" in errors(api.post(f"{path_of(source)}/clone", body))
    grant = Grant.objects.create(
        user=restricted, entity_type="compute", entity_id=target.pk, permissions="read_only"
    )
    assert api.post(f"{path_of(source)}/clone", body).status_code == 403
    grant.permissions = "read_write"
    grant.save()
    assert api.post(f"{path_of(source)}/clone", body).status_code == 200


# --- races -----------------------------------------------------------------------------------------------

RACERS = 8


def race(*actions) -> list:
    """Run all actions at the same moment. Returns each one's result or error."""
    gate = threading.Barrier(len(actions))
    results: list = [None] * len(actions)

    def racer(number: int) -> None:
        try:
            gate.wait()
            results[number] = actions[number]()
        except Exception as refusal:  # noqa: BLE001 - looked at by the test
            results[number] = refusal
        finally:
            connection.close()

    threads = [threading.Thread(target=racer, args=(number,)) for number in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.django_db(transaction=True)
def test_at_most_five_simultaneous_clones_begin(world, driver):
    source = deployed(world, driver)

    results = race(*[lambda: clone(world.actor, Instance.objects.get(pk=source.pk), CloneSpec())] * RACERS)

    refused = [result for result in results if not isinstance(result, Instance)]
    assert [str(each) for each in refused] == ["At most 5 clones of a compute run at once."] * (RACERS - 5)
    assert Job.objects.filter(kind="clone").count() == 5
    assert Instance.objects.count() == 6


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("_round", range(3))
def test_clones_that_end_at_once_do_not_leave_the_source_cloning(_round, world, driver):
    source = deployed(world, driver)
    copies = [clone(world.actor, source, CloneSpec()) for _ in range(5)]
    jobs = [copy.jobs.get().pk for copy in copies]

    race(*[lambda pk=pk: engine.run(pk, driver) for pk in jobs])

    assert set(Job.objects.filter(pk__in=jobs).values_list("state", flat=True)) == {"done"}
    source.refresh_from_db()
    assert source.status == "running"


@pytest.mark.django_db(transaction=True)
def test_clones_into_each_other_do_not_wait_for_ever(world, driver):
    one, other = (deployed(world, driver, image=None, label=label) for label in ("one", "two"))
    for _ in range(5):
        results = race(
            lambda: clone(world.actor, one, CloneSpec(compute_id=other.pk)),
            lambda: clone(world.actor, other, CloneSpec(compute_id=one.pk)),
        )

        begun = [result for result in results if isinstance(result, Instance)]
        assert len(begun) <= 1
        assert all(isinstance(result, (Instance, DomainError)) for result in results), results
        for job in Job.objects.filter(finished_at=None):
            work(job, driver)
    assert set(Instance.objects.values_list("status", flat=True)) == {"offline"}
