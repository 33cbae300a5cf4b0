"""The API of an account's images."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db.models.functions import Now

from accounts.models import Event, GlobalGrants, Grant, User
from compute.models import Disk, Image, Instance, Job
from compute.services.images.images import delete
from compute.services.instances import power
from compute.worker import engine
from config.errors import Missing
from tests.client import errors
from tests.compute.memory_driver import MemoryDriver, WorkerDied, failing_at
from tests.compute.run_jobs import work
from tests.factories import DiskFactory, GrantFactory, ImageFactory, InstanceFactory

pytestmark = pytest.mark.django_db

IMAGES = "/v4/images"


@pytest.fixture
def helper(world) -> User:
    user = User.objects.create_user("worldhelper", account=world.account, restricted=True)
    GlobalGrants.objects.create(user=user, add_images=True)
    return user


@pytest.fixture
def instance(world, driver) -> Instance:
    instance = world.create(label="source")
    work(instance.jobs.get(), driver)
    instance.refresh_from_db()
    return instance


@pytest.fixture
def disk(instance):
    return instance.disks.earliest("pk")


@pytest.fixture
def image(world, driver) -> Image:
    """An image of the account that has an archive."""
    image = ImageFactory(id="private/70", number=70, account=world.account, is_public=False, label="golden")
    driver.archives["skerry-image-70"] = 1300
    return image


def ids(response) -> list[str]:
    return [image["id"] for image in response.json()["data"]]


def newest_job() -> Job:
    return Job.objects.latest("pk")


def status_of(disk: Disk) -> str:
    return Disk.objects.values_list("status", flat=True).get(pk=disk.pk)


def dies_at_once(driver: MemoryDriver) -> None:
    def die(number: int, name: str) -> None:
        raise WorkerDied

    driver.before = die


# --- from a disk -----------------------------------------------------------------------------------------


def test_an_image_of_a_disk_is_creating_and_then_available(api, disk, driver, instance):
    made = api.post(IMAGES, {"disk_id": disk.pk}).json()
    image = Image.objects.get(pk=made["id"])
    assert made == {
        "id": f"private/{image.number}", "label": disk.label, "description": "", "vendor": None, "size": 0,
        "type": "manual", "status": "creating", "is_public": False, "deprecated": False,
        "created": made["created"], "updated": made["updated"], "created_by": "worldowner", "expiry": None,
        "eol": None,
    }  # fmt: skip
    event = Event.objects.get(action="disk_imagize")
    assert (event.entity_type, event.entity_id, event.secondary_id) == ("compute", instance.pk, made["id"])
    instance.refresh_from_db()
    assert instance.status == "running"
    shown = f"/v4/compute/instances/{instance.pk}/disks/{disk.pk}"
    assert api.get(shown).json()["status"] == "not ready"

    work(newest_job(), driver)

    assert api.get(shown).json()["status"] == "ready"
    shown = api.get(f"{IMAGES}/{made['id']}").json()
    assert (shown["status"], shown["size"]) == ("available", driver.archive_size(f"skerry-image-{image.number}"))
    event.refresh_from_db()
    assert (event.status, event.percent_complete) == ("finished", 100)


def test_label_and_description_may_be_given(api, disk):
    made = api.post(IMAGES, {"disk_id": disk.pk, "label": "golden", "description": "As of today"}).json()
    assert (made["label"], made["description"]) == ("golden", "As of today")


def test_a_disk_that_is_not_there_or_not_ours_or_about_to_go_is_refused(api, instance, disk):
    def refused(disk_id: int) -> tuple[int, set[str | None]]:
        answer = api.post(IMAGES, {"disk_id": disk_id})
        return answer.status_code, set(errors(answer, answer.status_code))

    stranger = DiskFactory()
    for disk_id in (stranger.pk, 999_999, -1):
        assert refused(disk_id) == (404, {"disk_id"})
    assert refused(2**64 - 1) == (400, {"disk_id"}), "it is no id"
    Instance.objects.filter(pk=instance.pk).update(status="deleting")
    assert refused(disk.pk) == (400, {"disk_id"})
    instance.delete()
    assert refused(disk.pk) == (404, {"disk_id"})
    assert not Image.objects.filter(number__isnull=False).exists()


def test_wrong_fields_are_named(api, disk):
    assert errors(api.post(IMAGES, {})) == {"disk_id": "disk_id is required"}
    assert errors(api.post(IMAGES, {"disk_id": "x", "label": "x" * 51})) == {
        "disk_id": "disk_id is not valid", "label": "Length must be at most 50 characters",
    }  # fmt: skip
    disk.status = "deleting"
    disk.save()
    assert errors(api.post(IMAGES, {"disk_id": disk.pk})) == {"disk_id": "The disk is being deleted."}


def test_the_image_of_an_instance_at_work_waits_for_it(api, world, instance, disk, driver):
    rebooting = power.reboot(world.actor, instance)

    made = api.post(IMAGES, {"disk_id": disk.pk}).json()

    assert made["status"] == "creating"
    waiting = newest_job()
    engine.run(waiting.pk, driver)
    waiting.refresh_from_db()
    assert (waiting.step, waiting.instance) == ("wait", None)
    assert status_of(disk) == "ready", "no image is being made of it yet"
    assert work(rebooting, driver).state == "done"
    Job.objects.filter(pk=waiting.pk).update(run_at=Now(), lease_until=None)
    dies_at_once(driver)
    with pytest.raises(WorkerDied):
        engine.run(waiting.pk, driver)
    assert status_of(disk) == "not ready"
    assert errors(api.post(f"/v4/compute/instances/{instance.pk}/reboot")) == {None: "Compute busy."}
    driver.before = lambda number, name: None
    assert work(waiting, driver).state == "done"
    assert status_of(disk) == "ready"
    assert api.get(f"{IMAGES}/{made['id']}").json()["status"] == "available"


def test_two_images_of_a_disk_are_made_one_after_the_other(api, disk, driver):
    first, second = (api.post(IMAGES, {"disk_id": disk.pk}).json()["id"] for _ in range(2))
    jobs = Job.objects.filter(kind="imagize").order_by("pk")
    engine.run(jobs[1].pk, driver)
    assert jobs[1].instance is None
    for job in jobs:
        assert work(job, driver).state == "done"
    assert [api.get(f"{IMAGES}/{each}").json()["status"] for each in (first, second)] == ["available"] * 2
    assert status_of(disk) == "ready"


@pytest.mark.parametrize("how", ["failed", "image deleted", "instance deleted"])
def test_the_disk_is_ready_again_when_no_image_is_made_of_it(api, instance, disk, driver, how):
    made = api.post(IMAGES, {"disk_id": disk.pk}).json()
    saving = newest_job()
    if how == "failed":
        driver.before = failing_at(len(driver.calls))
    elif how == "image deleted":
        api.delete(f"{IMAGES}/{made['id']}")
    else:
        api.delete(f"/v4/compute/instances/{instance.pk}")
    assert work(saving, driver).state == "failed"
    assert status_of(disk) == "ready"


def test_a_disk_that_is_imaged_is_no_disk_that_is_deployed_from_its_image(api, image, disk):
    disk.image = image
    disk.save()
    api.post(IMAGES, {"disk_id": disk.pk})
    assert api.delete(f"{IMAGES}/{image.pk}").status_code == 200


def test_a_failure_leaves_neither_image_nor_grant(client_for, helper, instance, disk, driver):
    GrantFactory(user=helper, entity_id=instance.pk)
    made = client_for(helper).post(IMAGES, {"disk_id": disk.pk}).json()
    assert Grant.objects.filter(entity_type="image").exists()
    driver.before = failing_at(len(driver.calls))

    work(newest_job(), driver)

    assert client_for(helper).get(f"{IMAGES}/{made['id']}").status_code == 404
    assert not Grant.objects.filter(entity_type="image").exists()
    assert not driver.archives
    assert Event.objects.get(action="disk_imagize").status == "failed"


def test_deleting_the_instance_meanwhile_leaves_no_half_image(api, instance, disk, driver):
    api.post(IMAGES, {"disk_id": disk.pk})
    saving = newest_job()
    assert api.delete(f"/v4/compute/instances/{instance.pk}").status_code == 200
    deleting = newest_job()

    work(saving, driver)
    work(deleting, driver)

    assert not Image.objects.filter(number__isnull=False).exists()
    assert not driver.archives
    assert not Instance.objects.exists()


def test_adding_needs_the_grant_both_scopes_and_the_instance(client_for, helper, instance, disk):
    api = client_for(helper)
    assert set(errors(api.post(IMAGES, {"disk_id": disk.pk}), 404)) == {"disk_id"}
    GrantFactory(user=helper, entity_id=instance.pk)
    assert client_for(helper, "images:read_write").post(IMAGES, {"disk_id": disk.pk}).status_code == 401
    GlobalGrants.objects.update(add_images=False)
    assert api.post(IMAGES, {"disk_id": disk.pk}).status_code == 403
    GlobalGrants.objects.update(add_images=True)
    made = api.post(IMAGES, {"disk_id": disk.pk}).json()
    grant = Grant.objects.get(entity_type="image")
    assert (f"private/{grant.entity_id}", grant.permissions) == (made["id"], "read_write")
    assert api.put(f"{IMAGES}/{made['id']}", {"label": "mine"}).json()["label"] == "mine"


# --- changing and deleting -------------------------------------------------------------------------------


def test_label_and_description_change_with_one_event(api, image):
    path = f"{IMAGES}/{image.pk}"
    shown = api.put(path, {"label": "silver", "description": "Second"}).json()
    assert (shown["label"], shown["description"]) == ("silver", "Second")
    assert api.get(path).json() == shown
    assert api.put(path, shown).json() == shown
    assert api.put(path, {"description": None}).json()["description"] == ""
    events = Event.objects.filter(action="image_update").order_by("pk")
    assert [(event.entity_type, event.entity_id, event.entity_label) for event in events] == [
        ("image", 70, "silver"), ("image", 70, "silver"),
    ]  # fmt: skip
    assert api.put(path, {"description": ""}).json()["description"] == ""
    assert len(events.all()) == 2, "it has none already"
    assert set(errors(api.put(path, {"label": "", "description": "x" * 65_001}))) == {"label", "description"}


def test_a_deleted_image_is_gone_at_once_and_its_archive_soon(api, image, driver, world, helper):
    GrantFactory(user=helper, entity_type="image", entity_id=image.number)
    instance = InstanceFactory(account=world.account, image=image)
    disk = DiskFactory(instance=instance, image=image)
    path = f"{IMAGES}/{image.pk}"

    assert api.delete(path).json() == {}
    for again in (api.get(path), api.delete(path), api.put(path, {"label": "late"})):
        assert again.status_code == 404
    assert image.pk not in ids(api.get(IMAGES))

    work(newest_job(), driver)

    assert not driver.archives
    assert not Image.objects.filter(pk=image.pk).exists()
    assert not Grant.objects.exists()
    instance.refresh_from_db()
    disk.refresh_from_db()
    assert (instance.image, disk.image) == (None, None)
    event = Event.objects.get(action="image_delete")
    assert (event.status, event.entity_id, event.percent_complete) == ("finished", 70, 100)


def test_an_image_that_cannot_be_deleted_comes_back(api, image, driver):
    api.delete(f"{IMAGES}/{image.pk}")
    driver.before = failing_at(len(driver.calls))

    work(newest_job(), driver)

    assert api.get(f"{IMAGES}/{image.pk}").json()["status"] == "available"
    assert Event.objects.get(action="image_delete").status == "failed"


def test_two_deletions_of_one_image_make_one_job(image, world):
    delete(world.actor, image)
    with pytest.raises(Missing):
        delete(world.actor, image)
    assert Job.objects.filter(kind="delete_image").count() == 1


def test_deleting_an_unfinished_image_rolls_its_job_back(api, disk, driver):
    made = api.post(IMAGES, {"disk_id": disk.pk}).json()
    maker = newest_job()
    assert api.delete(f"{IMAGES}/{made['id']}").status_code == 200
    assert api.get(f"{IMAGES}/{made['id']}").status_code == 404
    deletion = newest_job()

    assert work(maker, driver).state == "failed"
    assert work(deletion, driver).state == "done"

    assert Event.objects.get(action="disk_imagize").message == "The image was deleted."
    assert Event.objects.get(action="image_delete").status == "finished"
    assert not Image.objects.filter(pk=made["id"]).exists()
    assert not driver.archives


def test_the_image_of_a_disk_at_work_waits_for_it(api, world, driver):
    instance = world.create(label="fresh")
    disk = instance.disks.earliest("pk")
    made = api.post(IMAGES, {"disk_id": disk.pk})
    assert made.json()["status"] == "creating"
    waiting = newest_job()
    engine.run(waiting.pk, driver)
    waiting.refresh_from_db()
    assert (waiting.step, waiting.instance) == ("wait", None)

    work(instance.jobs.get(), driver)
    work(waiting, driver)

    assert waiting.state == "done", waiting.error
    assert waiting.instance == instance
    assert api.get(f"{IMAGES}/{made.json()['id']}").json()["status"] == "available"


def test_the_image_of_a_disk_that_goes_while_it_waits_is_not_made(api, world, driver):
    disk = world.create(label="fresh").disks.earliest("pk")
    made = api.post(IMAGES, {"disk_id": disk.pk}).json()
    waiting = newest_job()
    disk.delete()
    assert work(waiting, driver).state == "failed"
    assert Event.objects.get(action="disk_imagize").message == "The disk was deleted."
    assert api.get(f"{IMAGES}/{made['id']}").status_code == 404


def test_an_image_that_a_disk_is_deployed_from_is_deleted_afterwards(api, image, world, driver):
    instance = world.create(label="deployed", image=image.pk)
    assert errors(api.delete(f"{IMAGES}/{image.pk}")) == {None: "A disk is being deployed from this image."}
    work(instance.jobs.get(), driver)
    root = instance.disks.earliest("pk")
    assert driver.machines[f"skerry-{instance.pk}"]["disks"][f"skerry-{instance.pk}-disk-{root.pk}"].image == (
        "skerry-image-70"
    )
    assert api.delete(f"{IMAGES}/{image.pk}").status_code == 200


# --- who sees and changes what ---------------------------------------------------------------------------


def test_official_images_are_changed_by_nobody(api, world, anonymous):
    path = f"{IMAGES}/{world.image.pk}"
    for method in (lambda api: api.put(path, {"label": "stolen"}), lambda api: api.delete(path)):
        assert method(api).status_code == 403
        assert method(anonymous).status_code == 401
    world.image.refresh_from_db()
    assert world.image.label == "Test 11"


def test_public_images_are_the_platforms_and_have_a_description(anonymous, world):
    public = ImageFactory(description=None)
    shown = anonymous.get(f"{IMAGES}/{public.pk}").json()
    assert (shown["created_by"], shown["description"]) == ("compute", "")


def test_public_images_of_earlier_releases_get_their_creator(world):
    migration = import_module("compute.migrations.0029_creator_of_public_images")
    older, own = ImageFactory(created_by="skerry"), ImageFactory(account=world.account, is_public=False)
    migration.name_creator(apps, None)
    older.refresh_from_db()
    own.refresh_from_db()
    assert (older.created_by, own.created_by) == ("compute", None)


def test_reading_one_image_needs_the_read_scope(client_for, owner, image, world):
    api = client_for(owner, "images:read_only")
    for each in (image, world.image):
        answer = api.get(f"{IMAGES}/{each.pk}")
        assert (answer.status_code, answer["X-Accepted-OAuth-Scopes"]) == (200, "images:read_only")
    assert api.get(IMAGES)["X-Accepted-OAuth-Scopes"] == "*"


def test_an_accounts_own_are_seen_by_itself_alone(api, image, world, anonymous, client_for, stranger):
    assert ids(api.get(IMAGES)) == [image.pk, world.image.pk]
    for other in (anonymous, client_for(stranger)):
        assert ids(other.get(IMAGES)) == [world.image.pk]
        assert other.get(f"{IMAGES}/{image.pk}").status_code == 404
    assert client_for(stranger).delete(f"{IMAGES}/{image.pk}").status_code == 404
    assert ids(api.get(IMAGES, x_filter={"is_public": False, "label": "golden"})) == [image.pk]


def test_its_own_come_first_the_oldest_of_them_before_the_others(api, image, world):
    for number in (9, 100):
        ImageFactory(id=f"private/{number}", number=number, account=world.account, is_public=False)
    ImageFactory(id="compute/zz-first", position=5)
    expected = ["private/9", image.pk, "private/100", "compute/zz-first", world.image.pk]
    assert ids(api.get(IMAGES)) == expected
    assert ids(api.get(IMAGES, x_filter={"type": "manual"})) == expected
    assert ids(api.get(IMAGES, x_filter={"+order_by": "id"})) == sorted(expected)


def test_a_restricted_user_sees_and_changes_by_its_grants(client_for, helper, image, world):
    api = client_for(helper)
    path = f"{IMAGES}/private%2F70"
    assert ids(api.get(IMAGES)) == [world.image.pk]
    assert [api.get(path).status_code, api.delete(path).status_code] == [404, 404]
    grant = GrantFactory(user=helper, entity_type="image", entity_id=70)
    assert ids(api.get(IMAGES)) == [image.pk, world.image.pk]
    assert api.get(path).status_code == 200
    assert [api.put(path, {}).status_code, api.delete(path).status_code] == [403, 403]
    grant.permissions = "read_write"
    grant.save()
    assert [api.put(path, {"label": "mine"}).status_code, api.delete(path).status_code] == [200, 200]
