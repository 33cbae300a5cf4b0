"""Rescue: its boot, its traces, and the boot after it."""

import pytest

from accounts.models import Event, Grant, User
from compute.drivers.base import DriverError
from compute.machine_names import disk_name, machine_name
from compute.models import Config, Host, Instance
from compute.services.hosts import maintenance, moves
from compute.services.instances import power
from compute.services.instances.clones import CloneSpec, clone
from compute.services.instances.rescue import rescue
from tests.client import errors
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import finish, work
from tests.compute.watching import watch
from tests.compute.worker.scenarios import deployed, volume_of
from tests.factories import ConfigFactory, DiskFactory, HostFactory, HostMigrationFactory

pytestmark = pytest.mark.django_db

SLOTS = ("sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg", "sdh")


@pytest.fixture
def rescued(world, driver, running) -> Instance:
    work(rescue(world.actor, running), driver)
    running.refresh_from_db()
    return running


def path(instance: Instance, rest: str = "/rescue") -> str:
    return f"/v4/compute/instances/{instance.pk}{rest}"


def boot_of(instance: Instance, driver: MemoryDriver):
    return driver.machines[machine_name(instance.pk)]["boot"]


def profile(instance: Instance) -> Config:
    return instance.configs.get(rescue=True)


def own(instance: Instance) -> Config:
    return instance.configs.get(rescue=False)


# --- what it boots ---------------------------------------------------------------------------------------


def test_a_rescue_boots_the_rescue_system_with_all_disks_in_order(api, running, driver):
    assert api.post(path(running)).json() == {}
    assert api.get(path(running, "")).json()["status"] == "rebooting"
    job = finish(running, driver)
    assert (job.state, running.status) == ("done", "running")
    boot = boot_of(running, driver)
    disks = [disk_name(running.pk, disk.pk) for disk in running.disks.order_by("pk")]
    assert boot.rescue
    assert boot.devices == dict(zip(SLOTS, disks, strict=False))
    assert boot.kernel == "compute/latest-64bit"


def test_the_event_is_a_reboot_with_the_profile(api, running, driver):
    api.post(path(running))
    finish(running, driver)
    event = Event.objects.get(action="compute_reboot")
    assert (event.status, event.percent_complete, event.entity_id) == ("finished", 100, running.pk)
    assert (event.secondary_type, event.secondary_id) == ("compute_config", str(profile(running).pk))


def test_the_profile_is_listed_like_the_others(api, rescued):
    first, second = api.get(path(rescued, "/configs")).json()["data"]
    disks = list(rescued.disks.order_by("pk").values_list("pk", flat=True))
    assert first["id"] == own(rescued).pk
    assert (second["label"], second["root_device"]) == ("Rescue", "/dev/sdh")
    assert [second["devices"][slot] for slot in SLOTS] == [
        {"disk_id": disks[0], "volume_id": None},
        {"disk_id": disks[1], "volume_id": None},
        *[None] * 6,
    ]


@pytest.mark.parametrize("status", ["running", "offline", "stopped"])
def test_it_starts_from_any_settled_status(status, api, running, driver):
    if status != "running":
        driver.machines[machine_name(running.pk)]["on"] = False
        Instance.objects.filter(pk=running.pk).update(status=status)
    calls = len(driver.calls)
    assert api.post(path(running)).status_code == 200
    finish(running, driver)
    assert running.status == "running"
    assert driver.calls[calls:] == (["stop", "start"] if status == "running" else ["start"])


def test_the_devices_that_are_named_are_there_and_no_others(api, running, driver):
    second = running.disks.latest("pk")
    assert api.post(path(running), {"devices": {"sdc": {"disk_id": second.pk}, "sda": None}}).status_code == 200
    finish(running, driver)
    assert boot_of(running, driver).devices == {"sdc": disk_name(running.pk, second.pk)}


def test_it_can_have_no_disk_at_all(api, world, driver):
    empty = deployed(world, driver, image=None)
    assert api.post(path(empty), {}).status_code == 200
    assert finish(empty, driver).state == "done"
    assert (boot_of(empty, driver).devices, boot_of(empty, driver).rescue) == ({}, True)
    full = deployed(world, driver)
    assert api.post(path(full), {"devices": {}}).status_code == 200
    finish(full, driver)
    assert boot_of(full, driver).devices == {}


def test_an_eighth_disk_and_one_that_is_going_have_no_slot(api, running, driver):
    running.disks.all().delete()
    disks = [DiskFactory(instance=running) for _ in range(9)]
    machine = driver.machines[machine_name(running.pk)]
    machine["disks"] = dict.fromkeys((disk_name(running.pk, disk.pk) for disk in disks), None)
    running.disks.filter(pk=disks[0].pk).update(status="deleting")
    api.post(path(running))
    finish(running, driver)
    assert list(boot_of(running, driver).devices.values()) == [disk_name(running.pk, d.pk) for d in disks[1:8]]


def test_bad_devices_are_refused_by_name_and_nothing_happens(api, running, world):
    other = DiskFactory(instance__account=world.account, instance__host=world.host)
    disk = running.disks.first()
    devices = {
        "sda": {"disk_id": disk.pk},
        "sdb": {"disk_id": disk.pk},
        "sdc": {"disk_id": other.pk},
        "sdd": {"volume_id": 5},
        "sde": {},
    }
    assert set(errors(api.post(path(running), {"devices": devices}))) == {
        "devices.sdb.disk_id", "devices.sdc.disk_id", "devices.sdd.volume_id", "devices.sde",
    }  # fmt: skip
    running.refresh_from_db()
    assert running.status == "running"
    assert not running.configs.filter(rescue=True).exists()


def test_a_volume_is_there_in_rescue(api, running, driver, world):
    mine = volume_of(world, driver, instance=running)
    assert api.post(path(running), {"devices": {"sda": {"volume_id": mine.pk}}}).status_code == 200
    finish(running, driver)
    shown = api.get(path(running, f"/configs/{profile(running).pk}")).json()["devices"]
    assert shown["sda"] == {"disk_id": None, "volume_id": mine.pk}
    assert boot_of(running, driver).devices == {"sda": f"skerry-volume-{mine.pk}"}


def test_it_is_refused_while_a_job_runs_or_the_host_is_in_maintenance(api, running, world):
    maintenance.begin(world.host)
    assert "maintenance" in errors(api.post(path(running)))[None]
    maintenance.end(world.host)
    power.reboot(world.actor, running)
    assert errors(api.post(path(running))) == {None: "Compute busy."}
    assert not running.configs.filter(rescue=True).exists()


def test_it_needs_read_write(client_for, world, running):
    helper = User.objects.create_user("worldhelper", account=world.account, restricted=True)
    api = client_for(helper)
    assert api.post(path(running)).status_code == 404
    grant = Grant.objects.create(user=helper, entity_type="compute", entity_id=running.pk, permissions="read_only")
    assert api.post(path(running)).status_code == 403
    grant.permissions = "read_write"
    grant.save()
    assert api.post(path(running)).status_code == 200


# --- its profile -----------------------------------------------------------------------------------------


def test_the_newest_rescue_replaces_earlier_ones(api, rescued, driver):
    earlier = profile(rescued)
    api.post(path(rescued), {"devices": {}})
    finish(rescued, driver)
    assert profile(rescued).pk != earlier.pk
    assert rescued.configs.count() == 2


def test_a_failed_rescue_leaves_the_earlier_profile_only(api, rescued, driver, settings):
    earlier = profile(rescued)
    driver.before = failing_at(len(driver.calls) + 1, DriverError("No."), times=settings.JOB_ATTEMPTS + 1)
    api.post(path(rescued))
    assert finish(rescued, driver).state == "failed"
    assert rescued.status == "offline"
    assert profile(rescued) == earlier
    assert Event.objects.filter(action="compute_reboot", status="failed", message="No.").exists()


def test_its_profile_stays_while_it_boots(api, running, driver):
    api.post(path(running))
    config = profile(running)
    assert errors(api.delete(path(running, f"/configs/{config.pk}"))) == {None: "Compute busy."}
    finish(running, driver)
    assert api.delete(path(running, f"/configs/{config.pk}")).status_code == 200
    running.refresh_from_db()
    assert running.status == "running"


# --- what boots after it ---------------------------------------------------------------------------------


def test_a_reboot_leaves_the_rescue_for_the_profile_booted_before(api, rescued, driver):
    before = own(rescued)
    ConfigFactory(instance=rescued)
    assert rescued.booted_config_id == before.pk
    assert api.post(path(rescued, "/reboot")).status_code == 200
    finish(rescued, driver)
    assert not boot_of(rescued, driver).rescue
    assert Event.objects.filter(action="compute_reboot").latest("pk").secondary_id == str(before.pk)


def test_a_rescue_does_not_count_as_a_profile_to_choose(api, world, driver):
    empty = deployed(world, driver, image=None)
    api.post(path(empty))
    finish(empty, driver)
    assert empty.booted_config_id is None
    assert "no configuration profile" in errors(api.post(path(empty, "/reboot")))[None]

    disk = DiskFactory(instance=empty)
    driver.machines[machine_name(empty.pk)]["disks"][disk_name(empty.pk, disk.pk)] = None
    sole = ConfigFactory(instance=empty, disk=disk)
    assert api.post(path(empty, "/reboot")).status_code == 200
    finish(empty, driver)
    assert empty.booted_config_id == sole.pk

    Instance.objects.filter(pk=empty.pk).update(booted_config=None)
    ConfigFactory(instance=empty)
    assert "several" in errors(api.post(path(empty, "/reboot")))[None]


def test_a_rescue_can_be_booted_again_by_its_profile(api, rescued, driver):
    before, again = own(rescued), profile(rescued)
    assert api.post(path(rescued, "/reboot"), {"config_id": again.pk}).status_code == 200
    finish(rescued, driver)
    assert boot_of(rescued, driver).rescue
    assert rescued.booted_config_id == before.pk


def test_the_watchdog_leaves_the_rescue(rescued, driver):
    machine = driver.machines[machine_name(rescued.pk)]
    machine["on"] = False
    watch(driver)
    finish(rescued, driver)
    assert machine["on"]
    assert not machine["boot"].rescue


def test_the_boot_after_maintenance_leaves_the_rescue(rescued, driver, world):
    maintenance.begin(world.host)
    maintenance.keep_up()
    finish(rescued, driver)
    assert rescued.status == "stopped"
    maintenance.end(world.host)
    maintenance.keep_up()
    finish(rescued, driver)
    assert rescued.status == "running"
    assert not boot_of(rescued, driver).rescue


def test_a_move_leaves_the_rescue(rescued, driver, world):
    other = HostFactory(region=world.region)
    HostMigrationFactory(instance=rescued)
    work(moves.migrate(world.actor, rescued), driver)
    rescued.refresh_from_db()
    assert rescued.host == Host.objects.get(pk=other.pk)
    assert not boot_of(rescued, driver).rescue


# --- clones ----------------------------------------------------------------------------------------------


def test_a_clone_has_no_rescue_unless_it_is_named(rescued, driver, world):
    copy = clone(world.actor, rescued, CloneSpec())
    assert list(copy.configs.values_list("rescue", flat=True)) == [False]
    work(copy.jobs.get(), driver)
    named = clone(world.actor, rescued, CloneSpec(configs=[profile(rescued).pk]))
    assert list(named.configs.values_list("rescue", "label")) == [(True, "Rescue")]
