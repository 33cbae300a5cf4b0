"""The pages of disks: each verb with its event, and the reasons at the fields."""

import pytest

from compute.models import Disk, Image, Instance, Job
from config.encryption import decrypt_json
from tests.accounts.pages.browsers import problems, signed_in_ago
from tests.compute.at_consoles import signed_in
from tests.compute.pages.creating import SCRIPT
from tests.compute.pages.parts import address_of, events, instance_with_parts, job_of, send, text
from tests.compute.run_jobs import finish
from tests.compute.worker.scenarios import deployed
from tests.factories import GlobalGrantsFactory, GrantFactory, ImageFactory, StackScriptFactory
from tests.world import STRONG

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(account) -> Instance:
    return instance_with_parts(account)


@pytest.fixture
def disk(instance) -> Disk:
    return instance.disks.get()


@pytest.fixture
def browser(owner):
    browser = signed_in(owner)
    signed_in_ago(browser, 0)
    return browser


class TestCreating:
    def test_a_disk_is_created_and_becomes_ready(self, world, driver):
        instance = deployed(world, driver, running=False)
        instance.disks.filter(filesystem="ext4").update(size=5000)
        owner = world.account.users.get()
        shown = send(signed_in(owner), "instance-disk-new", instance, label="data", size="2048", filesystem="ext3")
        assert "The disk data is being created." in text(shown)
        assert "not ready" in text(shown)
        finish(instance, driver)
        made = instance.disks.get(label="data")
        assert (made.status, made.size, made.filesystem) == ("ready", 2048, "ext3")
        assert events(instance)[-1] == "disk_create"

    def test_an_image_needs_a_password(self, browser, instance):
        image = ImageFactory()
        answer = send(browser, "instance-disk-new", instance, size="2000", image=image.pk, root_pass="")
        assert problems(answer, "root_pass") == '"Root password" is required'
        answer = send(browser, "instance-disk-new", instance, size="2000", image=image.pk, root_pass=STRONG)
        assert instance.disks.filter(image=image).exists()
        assert STRONG not in text(answer)

    def test_a_script_is_deployed_with_its_values(self, browser, account, instance):
        image, other = ImageFactory(label="For the script"), ImageFactory(label="Another")
        script = StackScriptFactory(account=account, label="Shop", script=SCRIPT, images=[image.pk])
        page = address_of("instance-disk-new", instance)
        assert "Shop" in text(browser.get(page))
        shown = text(browser.get(f"{page}?script={script.pk}"))
        assert 'value="welcome"' in shown
        assert image.label in shown
        assert other.label not in shown
        fields = {"stackscript_id": script.pk, "size": "2000", "image": image.pk, "root_pass": STRONG}
        answer = send(browser, "instance-disk-new", instance, **fields)
        assert problems(answer, "stackscript_data.role") == "Role is required"
        values = {"motd": "hello", "role": "db", "parts": ["b", "c"], "db_password": "hush"}
        given = {f"stackscript_data.{name}": value for name, value in values.items()}
        assert "hush" not in text(send(browser, "instance-disk-new", instance, **fields, **given))
        assert instance.disks.get(image=image).stackscript == script
        kept = decrypt_json(job_of(instance).encrypted)["script"]
        for line in ("MOTD=hello", "ROLE=db", "PARTS=b,c", "DB_PASSWORD=hush"):
            assert f"export {line}\n" in kept

    def test_a_script_needs_an_image(self, browser, account, instance):
        script = StackScriptFactory(account=account)
        answer = send(browser, "instance-disk-new", instance, size="2000", stackscript_id=script.pk)
        assert problems(answer, "image") == "Image is required"
        assert events(instance) == []

    def test_reasons_stand_at_their_fields(self, browser, instance):
        answer = send(
            browser, "instance-disk-new", instance, size="99999", label="x" * 49, root_pass="short",
            authorized_keys="ssh-rsa nonsense",
        )  # fmt: skip
        assert problems(answer, "label") == "Length must be 1-48 characters"
        assert "left" in problems(answer, "size")
        assert problems(answer, "root_pass") == "Length must be 7-128 characters"
        assert problems(answer, "authorized_keys")
        assert 'value="99999"' in text(answer)
        assert "short" not in text(answer)
        assert events(instance) == []

    def test_no_size_and_no_number(self, browser, instance):
        assert problems(send(browser, "instance-disk-new", instance), "size") == "Size is required"
        assert problems(send(browser, "instance-disk-new", instance, size="much"), "size") == "Size is not valid"

    def test_the_own_name_is_the_only_one_that_a_restricted_user_is_offered(self, account, owner, instance):
        user = GlobalGrantsFactory(user__account=account, user__username="helper").user
        GrantFactory(user=user, entity_id=instance.pk, permissions="read_write")
        for each in (user, owner):
            each.ssh_keys.create(ssh_key="ssh-ed25519 AAAA")
        offered = 'value="{}"'.format
        shown = text(signed_in(user).get(address_of("instance-disk-new", instance)))
        assert offered("helper") in shown
        assert offered("owner") not in shown
        assert offered("helper") in text(signed_in(owner).get(address_of("instance-disk-new", instance)))


class TestOne:
    def test_label_and_filesystem_change(self, browser, instance, disk):
        answer = send(browser, "instance-disk-edit", instance, disk.pk, label="files", filesystem="raw")
        assert "The disk files was saved." in text(answer)
        disk.refresh_from_db()
        assert (disk.label, disk.filesystem) == ("files", "raw")
        assert events(instance) == ["disk_update"]

    def test_an_empty_label_is_refused(self, browser, instance, disk):
        answer = send(browser, "instance-disk-edit", instance, disk.pk, label="", filesystem="raw")
        assert problems(answer, "label") == "Length must be 1-48 characters"

    def test_it_is_resized(self, browser, instance, disk):
        shown = text(browser.get(address_of("instance-disk-resize", instance, disk.pk)))
        assert "The disk can have 25600 MB at most." in shown
        send(browser, "instance-disk-resize", instance, disk.pk, size="3000")
        assert job_of(instance).kind == "disk_resize"
        assert events(instance) == ["disk_resize"]

    def test_the_type_bounds_its_size(self, browser, instance, disk):
        answer = send(browser, "instance-disk-resize", instance, disk.pk, size="30000")
        assert "left" in problems(answer, "size")

    def test_it_is_cloned(self, browser, instance, disk):
        send(browser, "instance-disk-clone", instance, disk.pk)
        assert instance.disks.filter(label="Copy of root").exists()
        assert events(instance) == ["disk_duplicate"]

    def test_a_disk_that_is_not_ready_is_not_cloned(self, browser, instance, disk):
        Disk.objects.update(status="not ready")
        assert "The disk is not ready." in text(send(browser, "instance-disk-clone", instance, disk.pk))
        assert not Job.objects.exists()

    def test_it_is_deleted(self, browser, instance, disk):
        send(browser, "instance-disk-delete", instance, disk.pk)
        disk.refresh_from_db()
        assert disk.status == "deleting"
        assert events(instance) == ["disk_delete"]

    def test_the_disk_that_a_machine_runs_with_is_not_deleted(self, browser, instance, disk):
        Instance.objects.update(status="running", booted_config=instance.configs.get())
        answer = send(browser, "instance-disk-delete", instance, disk.pk)
        assert "The instance runs with this disk: shut it down first" in text(answer)


class TestPassword:
    def test_it_is_set_and_shown_nowhere(self, browser, instance, disk):
        answer = send(browser, "instance-disk-password", instance, disk.pk, password=STRONG)
        assert "The root password of root is being set." in text(answer)
        assert STRONG not in text(answer)
        assert job_of(instance).kind == "password_reset"

    def test_a_weak_one_is_refused_and_not_kept(self, browser, instance, disk):
        answer = send(browser, "instance-disk-password", instance, disk.pk, password="hunter2")
        assert problems(answer, "password")
        assert "hunter2" not in text(answer)

    def test_the_user_confirms_the_own_password_first(self, owner, instance, disk):
        address = address_of("instance-disk-password", instance, disk.pk)
        browser = signed_in(owner)
        assert browser.post(address, {"password": STRONG})["Location"].startswith("/home/confirm?next=")
        assert not Job.objects.exists()

    def test_the_instance_has_to_be_off(self, browser, instance, disk):
        Instance.objects.update(status="running")
        shown = text(browser.get(address_of("instance-disk-password", instance, disk.pk)))
        assert "an instance that is running." in shown


class TestImage:
    def test_it_is_made_of_the_disk(self, browser, instance, disk):
        answer = send(browser, "instance-disk-image", instance, disk.pk, label="golden", description="As of today.")
        assert "The image golden is being created." in text(answer)
        assert Image.objects.get(label="golden").description == "As of today."
        assert events(instance) == ["disk_imagize"]

    def test_a_reader_with_the_grant_may_make_one(self, account, instance, disk):
        grants = GlobalGrantsFactory(user__account=account, add_images=True)
        GrantFactory(user=grants.user, entity_id=instance.pk)
        browser = signed_in(grants.user)
        assert "Create image" in text(browser.get(address_of("instance-storage", instance)))
        send(browser, "instance-disk-image", instance, disk.pk)
        assert Image.objects.filter(label="root").exists()

    def test_a_label_has_a_length(self, browser, instance, disk):
        answer = send(browser, "instance-disk-image", instance, disk.pk, label="x" * 51)
        assert problems(answer, "label") == "Length must be at most 50 characters"
