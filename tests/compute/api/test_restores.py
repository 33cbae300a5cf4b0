"""The API of restores: into existing instances, and into new ones."""

import pytest

from accounts.models import Event, GlobalGrants, Grant
from compute.drivers.base import Refused
from compute.machine_names import disk_name, machine_name
from compute.models import Backup, Config, Disk, Instance, InstanceType, Job
from compute.services.hosts.moves import migrate
from compute.worker import engine
from regions.models import Region
from tests.client import errors
from tests.compute.memory_driver import failing_at
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import backed_up, deployed
from tests.factories import (
    AddressPoolFactory,
    ConfigFactory,
    GrantFactory,
    HostFactory,
    InstanceFactory,
    InstanceTypeFactory,
    UserFactory,
)
from tests.world import STRONG

pytestmark = pytest.mark.django_db

INSTANCES = "/v4/compute/instances"


@pytest.fixture
def source(world, driver) -> Instance:
    """A running instance with a snapshot of its one disk and swap."""
    return backed_up(world, driver)


@pytest.fixture
def kept(source) -> Backup:
    return Backup.objects.get(instance=source)


@pytest.fixture
def target(world, driver) -> Instance:
    """An instance that is off and empty."""
    return deployed(world, driver, image=None, label="target")


@pytest.fixture
def elsewhere(world) -> Region:
    region = Region.objects.create(id="us-other", country="us", capabilities=["Computes"])
    HostFactory(region=region)
    for kind, network in (("public", "203.0.113.0/28"), ("private", "10.9.0.0/28")):
        AddressPoolFactory(region=region, kind=kind, network=network, addresses=5)
    return region


def restore(api, backup: Backup, target: Instance | int, **body):
    compute_id = target.pk if isinstance(target, Instance) else target
    path = f"{INSTANCES}/{backup.instance_id}/backups/{backup.pk}/restore"
    return api.post(path, {"compute_id": compute_id, **body})


def end(kind: str, driver) -> Job:
    return work(Job.objects.get(kind=kind, finished_at=None), driver)


def made_of(driver, disk: Disk) -> str | None:
    """Return the archive from which the hypervisor created a disk."""
    return driver.machines[machine_name(disk.instance_id)]["disks"][disk_name(disk.instance_id, disk.pk)].image


# --- into an instance that is there --------------------------------------------------------------------------


def test_disks_and_profiles_are_added_to_an_empty_instance(api, kept, source, target, driver, world):
    Config.objects.filter(instance=source).delete()

    response = restore(api, kept, target)

    assert response.status_code == 200
    assert response.json() == {}
    assert api.get(f"{INSTANCES}/{target.pk}").json()["status"] == "restoring"
    end("restore", driver)
    target.refresh_from_db()
    assert target.status == "offline"
    data, swap = target.disks.order_by("pk")
    assert [(disk.label, disk.size, disk.filesystem, disk.status) for disk in (data, swap)] == [
        (disk["label"], disk["size"], disk["filesystem"], "ready") for disk in kept.disks
    ]
    assert made_of(driver, data) == f"skerry-backup-{kept.pk}-0"
    assert made_of(driver, swap) is None
    profile = target.configs.get()
    assert profile.label == kept.configs[0]
    assert profile.kernel_id == "compute/grub2"
    assert {device.slot: device.disk_id for device in profile.devices.all()} == {"sda": data.pk, "sdb": swap.pk}
    event = Event.objects.filter(account=world.account).latest("pk")
    assert (event.action, event.status, event.entity_id) == ("backups_restore", "finished", target.pk)
    assert event.secondary_type == ""


def test_a_restored_instance_boots(api, kept, target, driver):
    restore(api, kept, target)
    end("restore", driver)

    assert api.post(f"{INSTANCES}/{target.pk}/boot", {}).status_code == 200
    assert end("boot", driver).state == "done"


def test_an_instance_that_runs_and_keeps_its_disks_goes_on_running(api, world, source, driver):
    Disk.objects.filter(instance=source).update(size=500)
    own = set(source.disks.values_list("pk", flat=True))
    api.post(f"{INSTANCES}/{source.pk}/backups", {"label": "small"})
    end("snapshot", driver)
    small = Backup.objects.get(label="small")

    restore(api, small, source)
    end("restore", driver)

    source.refresh_from_db()
    assert source.status == "running"
    assert own < set(source.disks.values_list("pk", flat=True))
    assert source.disks.count() == 4
    assert source.configs.count() == 2


def test_overwriting_puts_the_backup_in_place_of_all_there_is(api, kept, source, driver):
    own = set(source.disks.values_list("pk", flat=True))
    own_configs = set(source.configs.values_list("pk", flat=True))

    assert restore(api, kept, source, overwrite=True).status_code == 200
    end("restore", driver)

    source.refresh_from_db()
    assert source.status == "offline"
    assert not own & set(source.disks.values_list("pk", flat=True))
    assert not own_configs & set(source.configs.values_list("pk", flat=True))
    assert source.disks.count() == 2
    assert driver.disks(machine_name(source.pk)) == {
        disk_name(source.pk, pk) for pk in source.disks.values_list("pk", flat=True)
    }
    assert source.image_id == "compute/test11"


def test_an_instance_without_room_says_how_much_it_lacks_unless_it_is_overwritten(api, kept, source):
    found = errors(restore(api, kept, source))

    assert found.keys() == {"compute_id"}
    assert "25600 MB" in found["compute_id"]
    assert restore(api, kept, source, overwrite=True).status_code == 200


def test_a_backup_larger_than_the_type_does_not_fit_even_when_overwriting(api, kept, target):
    small = InstanceTypeFactory(id="g6-tiny", disk=5000)
    Instance.objects.filter(pk=target.pk).update(type=small)

    assert errors(restore(api, kept, target, overwrite=True)).keys() == {"compute_id"}


def test_a_backup_is_restored_in_its_own_region_only(api, world, kept, elsewhere):
    away = InstanceFactory(account=world.account, region=elsewhere, type=world.type, host=elsewhere.hosts.first())
    reason = "The backup can be restored in the region us-test only."

    assert errors(restore(api, kept, away)) == {"compute_id": reason}


def test_backups_of_an_instance_that_moved_stay_in_their_region(
    api, world, kept, source, target, driver, elsewhere
):
    migrate(world.actor, source, "us-other")
    end("migrate_region", driver)

    assert api.get(f"{INSTANCES}/{source.pk}/backups/{kept.pk}").json()["region"] == "us-test"
    assert "us-test only" in errors(restore(api, kept, source, overwrite=True))["compute_id"]
    assert restore(api, kept, target).status_code == 200
    end("restore", driver)
    assert target.disks.count() == 2

    api.post(f"{INSTANCES}/{source.pk}/backups", {"label": "there"})
    end("snapshot", driver)
    assert api.get(f"{INSTANCES}/{source.pk}/backups").json()["snapshot"]["current"]["region"] == "us-other"


def test_a_target_that_is_not_mine_or_not_there_is_not_valid(api, kept):
    other = InstanceFactory()

    for compute_id in (other.pk, 10**12, -1, 0):
        assert errors(restore(api, kept, compute_id)) == {"compute_id": "compute_id is not valid"}
    for bad in ({"compute_id": None}, {"compute_id": "x"}, {"compute_id": kept.instance_id, "overwrite": "maybe"}):
        path = f"{INSTANCES}/{kept.instance_id}/backups/{kept.pk}/restore"
        assert len(errors(api.post(path, bad))) == 1
    assert errors(api.post(f"{INSTANCES}/{kept.instance_id}/backups/{kept.pk}/restore", {})) == {
        "compute_id": "compute_id is required"
    }


def test_a_restricted_user_needs_to_write_both_ends(client_for, world, kept, target, source):
    user = UserFactory(account=world.account, restricted=True)
    on_source = GrantFactory(user=user, entity_id=source.pk, permissions="read_write")
    api = client_for(user)
    assert errors(restore(api, kept, target)) == {"compute_id": "compute_id is not valid"}

    on_target = GrantFactory(user=user, entity_id=target.pk, permissions="read_only")
    assert restore(api, kept, target).status_code == 403

    on_target.permissions, on_source.permissions = "read_write", "read_only"
    on_target.save()
    on_source.save()
    assert restore(api, kept, target).status_code == 403

    on_source.permissions = "read_write"
    on_source.save()
    assert restore(api, kept, target).status_code == 200


@pytest.mark.parametrize("status", ["pending", "running", "failed", "userAborted"])
def test_a_backup_that_is_not_complete_is_not_restored(status, api, kept, target):
    Backup.objects.filter(pk=kept.pk).update(status=status)

    assert errors(restore(api, kept, target)) == {None: "The backup is not available."}


def test_a_kernel_that_is_gone_is_replaced_and_an_image_forgotten(api, kept, target, driver):
    kept.profiles[0]["kernel_id"] = "compute/gone"
    kept.disks[0]["image"] = "private/1"
    kept.save()

    restore(api, kept, target)
    end("restore", driver)

    assert target.configs.get().kernel_id == "compute/latest-64bit"
    assert target.disks.earliest("pk").image is None


# --- what goes wrong, and what comes between ------------------------------------------------------------------


def test_a_restore_that_fails_leaves_the_target_as_it_was(api, kept, target, driver):
    restore(api, kept, target)
    driver.before = failing_at(len(driver.calls) + 1, Refused("Not possible."), times=1)

    assert end("restore", driver).state == "failed"

    target.refresh_from_db()
    assert target.status == "offline"
    assert not target.disks.exists()
    assert not target.configs.exists()


def test_a_restore_that_fails_at_once_boots_the_instance_again(api, kept, source, driver):
    own = set(source.disks.values_list("pk", flat=True))
    restore(api, kept, source, overwrite=True)
    driver.before = failing_at(len(driver.calls) + 1, Refused("Not possible."), times=1)

    assert end("restore", driver).state == "failed"

    source.refresh_from_db()
    assert source.status == "running"
    assert set(source.disks.filter(status="ready").values_list("pk", flat=True)) == own
    assert source.configs.count() == 1


def test_a_restore_that_fails_later_shows_the_remaining_disks(api, kept, source, driver):
    restore(api, kept, source, overwrite=True)
    second = source.disks.filter(status="deleting").order_by("pk")[1].pk
    driver.before = failing_at(len(driver.calls) + 2, Refused("Not possible."), times=1)

    assert end("restore", driver).state == "failed"

    source.refresh_from_db()
    assert source.status == "offline"
    assert list(source.disks.values_list("pk", "status")) == [(second, "ready")]


def test_archives_of_a_running_restore_are_not_deleted(api, kept, source, target, driver):
    restore(api, kept, target)
    api.post(f"{INSTANCES}/{source.pk}/backups", {"label": "again"})
    end("snapshot", driver)
    deletion = Job.objects.get(kind="delete_backups")
    engine.run(deletion.pk, driver)
    assert f"skerry-backup-{kept.pk}-0" in driver.archives

    assert end("restore", driver).state == "done"
    work(deletion, driver)
    assert f"skerry-backup-{kept.pk}-0" not in driver.archives


def test_backups_are_not_cancelled_while_one_is_restored(api, kept, source, target):
    restore(api, kept, target)

    assert errors(api.post(f"{INSTANCES}/{source.pk}/backups/cancel", {})) == {None: "Compute busy."}


def test_an_instance_that_is_restored_is_not_deleted(api, kept, target):
    restore(api, kept, target)

    assert "restoring" in errors(api.delete(f"{INSTANCES}/{target.pk}"))[None]


def test_the_source_may_be_deleted_while_its_backup_is_restored(api, kept, source, target, driver):
    restore(api, kept, target)
    api.delete(f"{INSTANCES}/{source.pk}")
    end("delete", driver)

    assert end("restore", driver).state == "done"
    end("delete_backups", driver)
    assert not driver.archives
    assert target.disks.count() == 2


# --- into a new instance -------------------------------------------------------------------------------------


def create(api, world, **body):
    return api.post(INSTANCES, {"region": world.region.pk, "type": world.type.pk, **body})


def test_an_instance_made_from_a_backup_is_like_the_source_and_runs(api, world, kept, driver):
    response = create(api, world, backup_id=kept.pk, label="again")

    assert response.status_code == 200, response.content
    made = response.json()
    assert (made["status"], made["image"]) == ("restoring", "compute/test11")
    end("provision_from_backup", driver)
    instance = Instance.objects.get(pk=made["id"])
    assert instance.status == "running"
    data, swap = instance.disks.order_by("pk")
    assert (made_of(driver, data), made_of(driver, swap)) == (f"skerry-backup-{kept.pk}-0", None)
    spec = driver.machines[machine_name(instance.pk)]["disks"][disk_name(instance.pk, data.pk)]
    assert spec.root_password == STRONG, "root's password is the source's"
    assert instance.booted_config == instance.configs.get()
    events = Event.objects.filter(entity_id=instance.pk).order_by("pk").values_list("action", "status")
    assert list(events) == [("compute_create", "finished"), ("compute_boot", "finished")]


def test_a_restored_instance_boots_the_profile_booted_last(api, world, source, driver):
    ConfigFactory(instance=source, label="other")
    Config.objects.filter(pk=source.configs.earliest("pk").pk).update(label="first")
    api.post(f"{INSTANCES}/{source.pk}/backups", {"label": "two"})
    end("snapshot", driver)

    made = create(api, world, backup_id=Backup.objects.get(label="two").pk).json()
    end("provision_from_backup", driver)

    instance = Instance.objects.get(pk=made["id"])
    assert instance.booted_config is not None
    assert instance.booted_config.label == "first"
    assert instance.configs.count() == 2


def test_booted_false_leaves_it_off(api, world, kept, driver):
    made = create(api, world, backup_id=kept.pk, booted=False).json()
    end("provision_from_backup", driver)

    assert Instance.objects.get(pk=made["id"]).status == "offline"


def test_a_backup_and_an_image_or_a_script_exclude_each_other(api, world, kept):
    body = {"backup_id": kept.pk, "image": world.image.pk, "root_pass": STRONG, "stackscript_id": 5}

    assert errors(create(api, world, **body)) == {
        "image": "image cannot be combined with backup_id.",
        "stackscript_id": "stackscript_id cannot be combined with backup_id.",
    }


def test_the_type_must_hold_the_backup_and_the_region_be_its_own(api, world, kept, elsewhere):
    InstanceTypeFactory(id="g6-tiny", disk=5000)

    found = errors(create(api, world, type="g6-tiny", region="us-other", backup_id=kept.pk))

    assert found.keys() == {"type", "region"}
    assert "25600 MB" in found["type"]
    assert "us-test only" in found["region"]


def test_only_a_complete_backup_of_an_instance_that_the_caller_sees_is_valid(client_for, api, world, kept, source):
    helper = UserFactory(account=world.account, restricted=True)
    GlobalGrants.objects.create(user=helper, add_computes=True)
    wrong = {"backup_id": "backup_id is not valid"}
    for backup_id in (0, -1, 10**12):
        assert errors(create(api, world, backup_id=backup_id)) == wrong
    assert errors(create(client_for(UserFactory()), world, backup_id=kept.pk)) == wrong
    assert errors(create(client_for(helper), world, backup_id=kept.pk)) == wrong

    GrantFactory(user=helper, entity_id=source.pk, permissions="read_only")
    assert errors(create(client_for(helper), world, backup_id=kept.pk), 403) == {"backup_id": "Unauthorized"}
    Grant.objects.filter(user=helper).update(permissions="read_write")
    assert create(client_for(helper), world, backup_id=kept.pk).status_code == 200

    Backup.objects.filter(pk=kept.pk).update(status="failed")
    assert errors(create(api, world, backup_id=kept.pk)) == wrong


def test_a_create_from_a_backup_that_fails_leaves_nothing(api, world, kept, driver):
    made = create(api, world, backup_id=kept.pk).json()
    driver.before = failing_at(len(driver.calls) + 1, Refused("Not possible."), times=1)

    assert end("provision_from_backup", driver).state == "failed"

    assert not Instance.objects.filter(pk=made["id"]).exists()
    assert machine_name(made["id"]) not in driver.machines


# --- backups of what is made ---------------------------------------------------------------------------------


def test_a_new_instance_may_have_backups_from_the_start(api, world):
    made = create(api, world, backups_enabled=True).json()

    assert made["backups"] == {
        "enabled": True,
        "available": False,
        "schedule": {"day": "Scheduling", "window": "Scheduling"},
        "last_successful": None,
    }


def test_a_clone_has_backups_only_where_it_is_asked_for(api, source, driver):
    path = f"{INSTANCES}/{source.pk}/clone"
    assert api.post(path, {}).json()["backups"]["enabled"] is False
    assert api.post(path, {"backups_enabled": True}).json()["backups"]["enabled"] is True


def test_backups_are_refused_where_the_type_has_none(api, world, source):
    InstanceType.objects.update(backup_price_monthly=None)
    reason = {"backups_enabled": "Backups are not offered for this type."}

    assert errors(create(api, world, backups_enabled=True)) == reason
    assert errors(api.post(f"{INSTANCES}/{source.pk}/clone", {"backups_enabled": True})) == reason
