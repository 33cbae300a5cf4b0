"""The API of backups: reading, enabling and cancelling them, and snapshots."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from accounts.models import Event, User
from compute.drivers.base import DiskSpec, Refused
from compute.machine_names import disk_name, machine_name
from compute.models import Backup, Instance, InstanceType, Job
from compute.services.hosts import maintenance
from compute.worker import engine
from tests.client import errors
from tests.compute.memory_driver import failing_at
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import deployed
from tests.factories import DiskFactory, GrantFactory, InstanceFactory, StaffFactory, UserFactory

pytestmark = pytest.mark.django_db

INSTANCES = "/v4/compute/instances"


@pytest.fixture
def owner() -> User:
    return UserFactory()


@pytest.fixture
def kept(owner) -> Instance:
    return InstanceFactory(account=owner.account)


def backup(instance: Instance, status: str = "successful", type: str = "snapshot", **fields) -> Backup:
    disk = {"label": "d", "size": 1000, "filesystem": "ext4", "image": None, "archive": "skerry-backup-7-0"}
    return Backup.objects.create(
        instance=instance, account=instance.account, region=instance.region, type=type, status=status,
        disks=[disk], configs=["My Profile"], **fields,
    )  # fmt: skip


def url(instance: Instance) -> str:
    return f"{INSTANCES}/{instance.pk}/backups"


def test_an_instance_without_backups_lists_none(api, kept):
    response = api.get(url(kept))

    assert response.status_code == 200
    assert response.json() == {"automatic": [], "snapshot": {"current": None, "in_progress": None}}


def test_the_listing_tells_automatic_current_and_in_progress_apart(api, kept):
    first, second = (backup(kept, type="automatic", rotation=r) for r in ("weekly", "daily"))
    current = backup(kept, label="before", finished=now())
    under_way = backup(kept, "running", label="again")
    backup(kept, "failed", label="lost")
    backup(kept, "failed", "automatic")
    backup(InstanceFactory(account=kept.account), type="automatic")

    found = api.get(url(kept)).json()

    assert [row["id"] for row in found["automatic"]] == [first.pk, second.pk]
    assert found["snapshot"]["current"]["id"] == current.pk
    assert found["snapshot"]["in_progress"]["id"] == under_way.pk
    assert not found["snapshot"]["in_progress"]["available"]


def test_a_backup_shows_its_contents_but_not_its_archives(api, kept):
    row = backup(kept, label="before", finished=now())

    found = api.get(f"{url(kept)}/{row.pk}").json()

    assert {name: found[name] for name in found if name not in ("created", "updated", "finished")} == {
        "id": row.pk,
        "type": "snapshot",
        "status": "successful",
        "available": True,
        "label": "before",
        "region": kept.region_id,
        "configs": ["My Profile"],
        "disks": [{"label": "d", "size": 1000, "filesystem": "ext4"}],
    }
    assert found["finished"]


def test_a_backup_that_failed_is_found_by_its_id(api, kept):
    found = api.get(f"{url(kept)}/{backup(kept, 'failed').pk}").json()

    assert (found["status"], found["available"]) == ("failed", False)


def test_a_backup_is_found_under_its_own_instance_only(api, kept):
    other = InstanceFactory(account=kept.account)

    assert api.get(f"{url(other)}/{backup(kept).pk}").status_code == 404


def test_users_who_may_read_the_instance_may_read_its_backups(client_for, kept):
    row = backup(kept)
    restricted = UserFactory(account=kept.account, restricted=True)
    for path in (url(kept), f"{url(kept)}/{row.pk}"):
        assert client_for(UserFactory()).get(path).status_code == 404
        assert client_for(restricted).get(path).status_code == 404

    GrantFactory(user=restricted, entity_id=kept.pk, permissions="read_only")

    for path in (url(kept), f"{url(kept)}/{row.pk}"):
        assert client_for(restricted).get(path).status_code == 200


def test_the_listing_asks_as_often_for_many_as_for_one(api, kept):
    backup(kept, type="automatic")
    api.get(url(kept))
    with CaptureQueriesContext(connection) as one:
        api.get(url(kept))
    for _ in range(5):
        backup(kept, type="automatic")
    with CaptureQueriesContext(connection) as many:
        api.get(url(kept))
    assert len(many) == len(one)


def test_staff_read_backups_and_change_none(client, kept):
    row = backup(kept, "failed", message="The host does not answer.")
    client.force_login(StaffFactory(is_superuser=True))

    assert client.get("/admin/compute/backup/").status_code == 200
    page = client.get(f"/admin/compute/backup/{row.pk}/change/")
    assert "The host does not answer." in page.content.decode()
    assert client.get("/admin/compute/backup/add/").status_code == 403


# --- enabling and cancelling -----------------------------------------------------------------------------


@pytest.fixture
def mine(client_for, world):
    """A client of the owner of the world's account."""
    return client_for(User.objects.get(pk=world.actor.user_id))


@pytest.fixture
def enabled(mine, world, driver) -> Instance:
    """A running instance with backups enabled."""
    instance = deployed(world, driver)
    assert mine.post(f"{url(instance)}/enable").status_code == 200
    return instance


def shows(api, instance: Instance) -> dict:
    return api.get(f"{INSTANCES}/{instance.pk}").json()["backups"]


def end(kind: str, driver) -> Job:
    return work(Job.objects.get(kind=kind, finished_at=None), driver)


def take(api, instance: Instance, driver, label: str = "before") -> dict:
    made = api.post(url(instance), {"label": label}).json()
    end("snapshot", driver)
    return made


def actions(account) -> list[tuple[str, str]]:
    return list(Event.objects.filter(account=account).order_by("pk").values_list("action", "status"))


def test_enabled_backups_wait_for_a_schedule_and_for_a_first_backup(mine, world, driver):
    instance = deployed(world, driver)
    assert shows(mine, instance) == {
        "enabled": False,
        "available": False,
        "schedule": {"day": None, "window": None},
        "last_successful": None,
    }

    assert mine.post(f"{url(instance)}/enable").json() == {}

    assert shows(mine, instance) == {
        "enabled": True,
        "available": False,
        "schedule": {"day": "Scheduling", "window": "Scheduling"},
        "last_successful": None,
    }
    assert actions(world.account)[-1] == ("backups_enable", "notification")


def test_enabling_again_changes_and_tells_nothing(mine, enabled, world):
    events = actions(world.account)

    assert mine.post(f"{url(enabled)}/enable").status_code == 200

    assert actions(world.account) == events


def test_a_schedule_that_was_set_before_is_kept_when_backups_are_enabled(mine, world, driver):
    instance = deployed(world, driver)
    mine.put(f"{INSTANCES}/{instance.pk}", {"backups": {"schedule": {"day": "Tuesday", "window": None}}})

    mine.post(f"{url(instance)}/enable")

    assert shows(mine, instance)["schedule"] == {"day": "Tuesday", "window": "Scheduling"}


def test_the_schedule_can_be_changed_and_left_to_the_platform_again(mine, enabled):
    path = f"{INSTANCES}/{enabled.pk}"

    changed = mine.put(path, {"backups": {"schedule": {"day": "Friday", "window": "W10"}}}).json()
    assert changed["backups"]["schedule"] == {"day": "Friday", "window": "W10"}

    left = mine.put(path, {"backups": {"schedule": {"day": None}}}).json()
    assert left["backups"]["schedule"] == {"day": "Scheduling", "window": "W10"}


def test_a_schedule_that_is_none_is_refused(mine, enabled):
    body = {"backups": {"schedule": {"day": "Someday", "window": "W3"}}}

    assert errors(mine.put(f"{INSTANCES}/{enabled.pk}", body)).keys() == {
        "backups.schedule.day",
        "backups.schedule.window",
    }


def test_backups_are_not_offered_for_a_type_that_has_no_price_for_them(mine, world, driver):
    instance = deployed(world, driver)
    InstanceType.objects.update(backup_price_monthly=None)

    assert errors(mine.post(f"{url(instance)}/enable")) == {None: "Backups are not offered for this type."}


def test_cancelling_deletes_all_backups_and_archives(mine, enabled, driver, world):
    take(mine, enabled, driver)
    backup(enabled, "failed")
    assert driver.archives

    assert mine.post(f"{url(enabled)}/cancel").json() == {}
    assert mine.get(url(enabled)).json() == {"automatic": [], "snapshot": {"current": None, "in_progress": None}}
    end("delete_backups", driver)

    assert not driver.archives
    assert not Backup.objects.filter(instance=enabled).exists()
    assert shows(mine, enabled) == {
        "enabled": False,
        "available": False,
        "schedule": {"day": None, "window": None},
        "last_successful": None,
    }
    assert actions(world.account)[-1] == ("backups_cancel", "finished")


def test_cancelling_where_nothing_is_kept_is_instant(mine, enabled, world):
    mine.post(f"{url(enabled)}/cancel")

    assert actions(world.account)[-1] == ("backups_cancel", "notification")
    assert mine.post(f"{url(enabled)}/cancel").status_code == 200, "what is already so stays so"
    assert actions(world.account).count(("backups_cancel", "notification")) == 1


def test_a_deletion_that_fails_is_tried_until_it_succeeds(mine, enabled, driver, settings):
    take(mine, enabled, driver)
    mine.post(f"{url(enabled)}/cancel")
    driver.before = failing_at(len(driver.calls), times=settings.JOB_ATTEMPTS + 3)

    assert end("delete_backups", driver).state == "done"

    assert not driver.archives


def test_cancelling_ends_a_snapshot_that_is_being_made(mine, enabled, driver):
    made = mine.post(url(enabled), {"label": "late"}).json()

    assert mine.post(f"{url(enabled)}/cancel").status_code == 200
    assert end("snapshot", driver).state == "failed"

    assert not driver.archives
    assert Backup.objects.get(pk=made["id"]).status == "userAborted"
    assert mine.get(url(enabled)).json()["snapshot"] == {"current": None, "in_progress": None}


def test_a_snapshot_that_is_complete_just_when_backups_are_cancelled_is_not_kept(mine, enabled, driver):
    mine.post(url(enabled), {"label": "late"})
    driver.after = lambda number, name: mine.post(f"{url(enabled)}/cancel") if name == "save_disk" else None

    assert end("snapshot", driver).state == "done"
    end("delete_backups", driver)

    assert not driver.archives
    assert not Backup.objects.filter(instance=enabled).exists()
    assert shows(mine, enabled)["available"] is False


# --- snapshots ---------------------------------------------------------------------------------------------


def test_a_snapshot_keeps_disks_but_swap_and_says_so_when_it_is_done(mine, enabled, driver, world):
    response = mine.post(url(enabled), {"label": "before"})

    assert response.status_code == 200
    made = response.json()
    assert (made["type"], made["status"], made["available"], made["label"]) == (
        "snapshot", "pending", False, "before",
    )  # fmt: skip
    assert [disk["filesystem"] for disk in made["disks"]] == ["ext4", "swap"]
    assert made["configs"] == list(enabled.configs.values_list("label", flat=True))
    assert mine.get(url(enabled)).json()["snapshot"]["in_progress"]["id"] == made["id"]

    end("snapshot", driver)

    assert driver.archives.keys() == {f"skerry-backup-{made['id']}-0"}
    current = mine.get(url(enabled)).json()["snapshot"]["current"]
    assert (current["id"], current["status"], current["available"]) == (made["id"], "successful", True)
    assert current["finished"]
    state = shows(mine, enabled)
    assert state["available"] is True
    assert state["last_successful"] == current["finished"]
    assert mine.get(f"{INSTANCES}/{enabled.pk}").json()["status"] == "running"
    event = Event.objects.filter(account=world.account).latest("pk")
    assert (event.action, event.status, event.percent_complete) == ("compute_snapshot", "finished", 100)
    assert (event.secondary_type, event.secondary_id) == ("backups", str(made["id"]))


def test_a_snapshot_that_is_being_made_is_not_available_and_shows_its_disks(mine, enabled):
    made = mine.post(url(enabled), {"label": "before"}).json()

    shown = mine.get(url(enabled)).json()["snapshot"]["in_progress"]
    assert shown == mine.get(f"{url(enabled)}/{made['id']}").json()
    assert shown["available"] is False
    disks = [(disk.label, disk.size, disk.filesystem) for disk in enabled.disks.order_by("pk")]
    assert [(disk["label"], disk["size"], disk["filesystem"]) for disk in shown["disks"]] == disks


def test_a_snapshot_replaces_the_one_before_when_it_is_complete(mine, enabled, driver):
    first = take(mine, enabled, driver)

    second = mine.post(url(enabled), {"label": "again"}).json()
    found = mine.get(url(enabled)).json()["snapshot"]
    assert (found["current"]["id"], found["in_progress"]["id"]) == (first["id"], second["id"])
    end("snapshot", driver)

    assert mine.get(url(enabled)).json()["snapshot"]["current"]["id"] == second["id"]
    assert mine.get(f"{url(enabled)}/{first['id']}").status_code == 404
    end("delete_backups", driver)
    assert driver.archives.keys() == {f"skerry-backup-{second['id']}-0"}


def test_a_snapshot_that_fails_leaves_the_one_before(mine, enabled, driver):
    first = take(mine, enabled, driver)
    second = mine.post(url(enabled), {"label": "again"}).json()
    driver.before = failing_at(len(driver.calls), Refused("The archive store is full."), times=1)

    end("snapshot", driver)

    assert driver.archives.keys() == {f"skerry-backup-{first['id']}-0"}
    assert mine.get(url(enabled)).json()["snapshot"]["current"]["id"] == first["id"]
    assert mine.get(f"{url(enabled)}/{second['id']}").json()["status"] == "failed"
    assert Backup.objects.get(pk=second["id"]).message == "The archive store is full."
    assert shows(mine, enabled)["available"] is True


def test_one_snapshot_at_a_time_and_nothing_else_meanwhile(mine, enabled):
    mine.post(url(enabled), {"label": "before"})

    for path, body in ((url(enabled), {"label": "again"}), (f"{INSTANCES}/{enabled.pk}/shutdown", {})):
        assert errors(mine.post(path, body)) == {None: "Compute busy."}


def test_a_snapshot_needs_backups_a_label_and_something_to_keep(mine, world, driver):
    instance, empty = deployed(world, driver), deployed(world, driver, image=None)
    assert errors(mine.post(url(instance), {"label": "before"})) == {
        None: "Backups are not enabled for this compute."
    }
    mine.post(f"{url(empty)}/enable")
    assert errors(mine.post(url(empty), {"label": "x"})) == {None: "This compute has no disks to back up."}
    assert errors(mine.post(url(empty), {})) == {
        "label": "label is required", None: "This compute has no disks to back up.",
    }  # fmt: skip
    mine.post(f"{url(instance)}/enable")
    for label in ("", "x" * 256, 7):
        assert errors(mine.post(url(instance), {"label": label})).keys() == {"label"}
    assert not Backup.objects.exists()


def test_nothing_is_available_or_taken_while_the_host_is_under_maintenance(mine, enabled, driver):
    made = take(mine, enabled, driver)

    def available():
        current = mine.get(url(enabled)).json()["snapshot"]["current"]
        one = mine.get(f"{url(enabled)}/{made['id']}").json()
        return [shows(mine, enabled)["available"], current["available"], one["available"]]

    assert available() == [True, True, True]
    maintenance.begin(enabled.host)

    assert available() == [False, False, False]
    assert "under maintenance" in errors(mine.post(url(enabled), {"label": "x"}))[None]
    maintenance.end(enabled.host)
    assert available() == [True, True, True]


def test_users_who_may_only_read_the_instance_change_none_of_its_backups(client_for, kept):
    row = backup(kept)
    reader = UserFactory(account=kept.account, restricted=True)
    GrantFactory(user=reader, entity_id=kept.pk, permissions="read_only")
    calls = (
        (url(kept), {"label": "x"}),
        (f"{url(kept)}/enable", {}),
        (f"{url(kept)}/cancel", {}),
        (f"{url(kept)}/{row.pk}/restore", {"compute_id": kept.pk}),
    )

    for path, body in calls:
        assert client_for(reader).post(path, body).status_code == 403
        assert client_for(UserFactory()).post(path, body).status_code == 404


# --- the end of the instance ---------------------------------------------------------------------------------


def test_deleting_an_instance_deletes_its_archives(mine, enabled, driver):
    take(mine, enabled, driver)

    mine.delete(f"{INSTANCES}/{enabled.pk}")
    end("delete", driver)
    end("delete_backups", driver)

    assert not driver.archives
    assert not Backup.objects.exists()


@pytest.mark.parametrize("saved", [False, True])
def test_deleting_an_instance_that_is_backed_up_leaves_no_archive(saved, mine, enabled, driver):
    DiskFactory(instance=enabled, size=1)
    driver.machines[machine_name(enabled.pk)]["disks"][disk_name(enabled.pk, enabled.disks.latest("pk").pk)] = (
        DiskSpec("more", 1, "ext4")
    )
    mine.post(url(enabled), {"label": "late"})
    job = Job.objects.get(kind="snapshot")
    driver.after = lambda number, name: (
        mine.delete(f"{INSTANCES}/{enabled.pk}")
        if name == "save_disk" and not Job.objects.filter(kind="delete").exists()
        else None
    )
    if not saved:
        mine.delete(f"{INSTANCES}/{enabled.pk}")

    work(job, driver)
    engine.notify_promoted()
    end("delete", driver)
    for rest in Job.objects.filter(kind="delete_backups", finished_at=None):
        work(rest, driver)

    assert not driver.archives
    assert not Instance.objects.filter(pk=enabled.pk).exists()


# --- staff -------------------------------------------------------------------------------------------------


def test_staff_delete_a_backup_with_its_archives(client, mine, enabled, driver):
    row = take(mine, enabled, driver)
    client.force_login(StaffFactory())

    answer = client.post(f"/admin/compute/backup/{row['id']}/do/delete/", {"confirmed": "yes"}, follow=True)

    assert answer.status_code == 200
    end("delete_backups", driver)
    assert not driver.archives
    assert shows(mine, enabled)["available"] is False


def test_staff_see_an_instances_backups_on_its_page(client, kept):
    backup(kept, "failed", label="lost", message="The host does not answer.")
    client.force_login(StaffFactory())

    page = client.get(f"/admin/compute/instance/{kept.pk}/change/").content.decode()

    assert "lost" in page
    assert "The host does not answer." in page
