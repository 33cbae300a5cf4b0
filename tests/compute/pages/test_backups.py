"""The pages of backups: enabling, schedule, snapshot, restore and cancelling."""

import pytest

from compute.models import Backup, Instance, InstanceType
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import address_of, backup_of, events, instance_with_parts, job_of, send, text
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import backed_up
from tests.factories import GlobalGrantsFactory, GrantFactory, InstanceFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(account) -> Instance:
    return instance_with_parts(account)


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def test_they_are_enabled_for_a_price(browser, account):
    instance = InstanceFactory(account=account)
    assert "Backups of this type cost $2.50 a month." in text(browser.get(address_of("instance-backups", instance)))
    assert "This costs $2.50 a month." in text(browser.get(address_of("instance-backups-enable", instance)))
    send(browser, "instance-backups-enable", instance)
    instance.refresh_from_db()
    assert instance.backups_enabled
    assert events(instance) == ["backups_enable"]


def test_a_type_may_have_none(browser, account):
    instance = InstanceFactory(account=account)
    InstanceType.objects.update(backup_price_monthly=None)
    reason = "Backups are not offered for this type."
    assert reason in text(browser.get(address_of("instance-backups", instance)))
    assert reason in text(send(browser, "instance-backups-enable", instance))


def test_without_backups_there_is_no_schedule_and_no_snapshot(browser, account):
    instance = InstanceFactory(account=account)
    for page in ("schedule", "snapshot"):
        shown = text(browser.get(address_of(f"instance-backups-{page}", instance)))
        assert "Backups are not enabled for this instance." in shown


def test_the_schedule_is_in_words_and_in_utc(browser, instance):
    send(
        browser, "instance-backups-schedule", instance,
        **{"backups.schedule.window": "W22", "backups.schedule.day": "Sunday"},
    )  # fmt: skip
    instance.refresh_from_db()
    assert (instance.backups_window, instance.backups_day) == ("W22", "Sunday")
    assert events(instance) == ["compute_update"]
    shown = text(browser.get(address_of("instance-backups", instance)))
    assert "22:00 to 00:00 UTC" in shown
    assert "Sunday" in shown


def test_the_platform_may_choose(browser, instance):
    given = {"backups.schedule.window": "Scheduling", "backups.schedule.day": "Scheduling"}
    shown = text(send(browser, "instance-backups-schedule", instance, **given))
    assert "chosen by the platform" in shown


def test_a_window_that_there_is_not_is_refused(browser, instance):
    given = {"backups.schedule.window": "W3", "backups.schedule.day": "Sunday"}
    answer = send(browser, "instance-backups-schedule", instance, **given)
    assert "Time window" in problems(answer, "backups.schedule.window")


def test_all_backups_are_listed_with_their_contents(browser, instance):
    backup_of(instance, type="automatic", rotation="biweekly", label=None)
    backup_of(instance, status="running", label="again")
    backup_of(instance, status="failed", label="given-up")
    shown = text(browser.get(address_of("instance-backups", instance)))
    for word in ("Every two weeks", "before the upgrade", "again", "in progress", "1000 MB, ext4", "default"):
        assert word in shown
    assert "given-up" not in shown
    assert '>Restore<span class="visually-hidden">, unavailable: The backup is not available.' in shown


def test_a_snapshot_is_taken_and_restored(world, driver):
    instance = backed_up(world, driver)
    browser = signed_in(world.account.users.get())
    assert "The snapshot today is being taken." in text(
        send(browser, "instance-backups-snapshot", instance, label="today")
    )
    work(job_of(instance), driver)
    kept = Backup.objects.get(instance=instance, label="today")
    form = text(browser.get(address_of("instance-backup-restore", instance, kept.pk)))
    assert "The instance is shut down, and stays off." in form
    answer = send(browser, "instance-backup-restore", instance, kept.pk, compute_id=instance.pk, overwrite="on")
    assert f"The backup is being restored to {instance}." in text(answer)
    work(job_of(instance), driver)
    instance.refresh_from_db()
    assert instance.status == "offline"
    assert events(instance)[-1] == "backups_restore"


def test_a_restore_to_another_instance_leads_to_its_page(world, driver):
    instance, other = backed_up(world, driver), world.offline(label="other", image=None)
    backup = instance.backups.get()
    browser = signed_in(world.account.users.get())
    address = address_of("instance-backup-restore", instance, backup.pk)
    assert backup.size > 1024
    assert f"The disks of the backup take {backup.size / 1024:g} GB." in text(browser.get(address))
    answer = browser.post(address, {"compute_id": other.pk, "overwrite": "on"})
    assert answer["Location"] == f"/home/instances/{other.pk}"
    other.refresh_from_db()
    assert other.status == "restoring"


def test_a_snapshot_needs_a_label(browser, instance):
    answer = send(browser, "instance-backups-snapshot", instance)
    assert problems(answer, "label") == "Length must be 1-255 characters"


def test_a_backup_is_restored_to_another_instance_that_the_user_may_change(account, owner, instance):
    InstanceFactory(account=account, label="target")
    InstanceFactory(account=account, label="unseen")
    user = GlobalGrantsFactory(user__account=account).user
    for each in (instance, Instance.objects.get(label="target")):
        GrantFactory(user=user, entity_id=each.pk, permissions="read_write")
    shown = text(signed_in(user).get(address_of("instance-backup-restore", instance, instance.backups.get().pk)))
    assert "(this instance)" in shown
    assert ">target<" in shown
    assert "unseen" not in shown


def test_a_target_without_room_is_refused(browser, instance):
    instance.disks.update(size=25600)
    answer = send(
        browser, "instance-backup-restore", instance, instance.backups.get().pk, compute_id=instance.pk
    )  # fmt: skip
    assert problems(answer, "compute_id") == "The backup needs 1000 MB, and the instance has 0 MB for it."


def test_cancelling_asks_and_deletes_all(browser, instance):
    assert "This cannot be undone." in text(browser.get(address_of("instance-backups-cancel", instance)))
    assert instance.backups.exists()
    send(browser, "instance-backups-cancel", instance)
    instance.refresh_from_db()
    assert not instance.backups_enabled
    assert events(instance) == ["backups_cancel"]
