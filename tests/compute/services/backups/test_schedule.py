"""Automatic backups: the window of each instance, the due backups, and those that are kept. The clock is an
argument."""

import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from accounts.models import Account, Event
from compute.drivers.base import DriverError
from compute.models import Backup, Instance, Job
from compute.services.backups.backups import cancel, enable, snapshot
from compute.services.backups.schedule import choose_schedules, due, enqueue_due_backups, take_due
from compute.services.hosts import maintenance
from compute.services.usage.comparison import compare
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import deployed
from tests.factories import InstanceFactory, RegionFactory
from tests.world import World

pytestmark = pytest.mark.django_db

SUNDAY = datetime(2026, 3, 1, 4, 30, tzinfo=UTC)
"""A time in the window W4."""


@pytest.fixture
def instance(world, driver) -> Instance:
    return scheduled(world, driver)


def scheduled(world: World, driver: MemoryDriver, day: str = "Sunday", window: str = "W4") -> Instance:
    """Create a running instance with backups on this schedule."""
    made = deployed(world, driver)
    enable(world.actor, made)
    Instance.objects.filter(pk=made.pk).update(backups_day=day, backups_window=window)
    made.refresh_from_db()
    return made


def day(number: int) -> datetime:
    """Return the same time of day, `number` days after the first Sunday."""
    return SUNDAY + timedelta(days=number)


def finish(driver: MemoryDriver) -> None:
    """Run all jobs to their end."""
    for job in Job.objects.filter(finished_at=None).order_by("pk"):
        work(job, driver)


def back_up(moment: datetime, driver: MemoryDriver) -> None:
    assert take_due(moment) == 1
    finish(driver)
    finish(driver)  # the deletion of the backups that it replaced


def kept(instance: Instance) -> list[tuple[str, str]]:
    rows = Backup.objects.filter(instance=instance, type="automatic", status="successful").order_by("day")
    return [(str(row.rotation), f"{row.day:%a %d}") for row in rows]


# --- what is due -----------------------------------------------------------------------------------------


def test_a_backup_is_taken_once_within_the_window(instance, driver):
    assert take_due(SUNDAY - timedelta(hours=1)) == 0
    assert take_due(SUNDAY) == 1
    assert take_due(SUNDAY) == 0, "its job is on its way"
    finish(driver)

    assert take_due(SUNDAY + timedelta(minutes=20)) == 0, "it is there"
    row = Backup.objects.get()
    assert (row.type, row.status, row.label, row.day) == ("automatic", "successful", None, SUNDAY.date())
    assert driver.archives.keys() == set(row.archives)
    assert take_due(SUNDAY + timedelta(hours=24)) == 1


@pytest.mark.parametrize(("hour", "minute", "taken"), [(3, 59, 0), (4, 0, 1), (5, 59, 1), (6, 0, 0)])
def test_the_window_ends_after_two_hours(hour, minute, taken, instance):
    assert take_due(SUNDAY.replace(hour=hour, minute=minute)) == taken


def test_the_last_window_of_the_day_belongs_to_that_day(world, driver):
    instance = scheduled(world, driver, window="W22")

    assert take_due(SUNDAY.replace(hour=23, minute=59)) == 1

    assert Backup.objects.get(instance=instance).day == SUNDAY.date()


def test_another_clocks_time_zone_does_not_move_the_window(instance):
    assert enqueue_due_backups(SUNDAY.astimezone(ZoneInfo("Asia/Tokyo"))) == 1


def test_a_busy_instance_is_retried_until_the_window_ends(instance, world, driver):
    snapshot(world.actor, instance, "before")

    assert take_due(SUNDAY) == 0
    finish(driver)

    assert take_due(SUNDAY + timedelta(minutes=10)) == 1


def test_a_backup_whose_worker_died_is_not_taken_twice_and_not_lost(instance, driver):
    take_due(SUNDAY)
    Job.objects.filter(finished_at=None).update(attempt=1, lease_until=Now() + timedelta(minutes=1))

    assert take_due(SUNDAY) == 0
    finish(driver)
    finish(driver)

    Job.objects.filter(finished_at=None).update(lease_until=None)
    finish(driver)
    assert Backup.objects.get().status == "successful"


def test_a_backup_that_failed_is_tried_again_but_not_for_ever(instance, driver, settings):
    settings.BACKUPS_TRIES = 2
    for _ in range(2):
        assert take_due(SUNDAY) == 1
        driver.before = failing_at(len(driver.calls), DriverError("The store is full."), settings.JOB_ATTEMPTS + 1)
        finish(driver)

    assert take_due(SUNDAY) == 0
    assert set(Backup.objects.values_list("status", "message")) == {("failed", "The store is full.")}
    assert Event.objects.filter(action="compute_snapshot", status="failed", username="").count() == 2
    assert not driver.archives
    assert take_due(day(1)) == 1


def test_nothing_is_taken_of_who_has_no_backups_nothing_to_keep_or_a_host_in_maintenance(world, driver):
    cancelled, bare, away = (scheduled(world, driver) for _ in range(3))
    cancel(world.actor, cancelled)
    bare.disks.filter(filesystem="ext4").delete()
    assert [found.pk for found in due("W4", SUNDAY.date())] == [away.pk]
    maintenance.begin(away.host)

    assert take_due(SUNDAY) == 0

    maintenance.end(away.host)
    assert take_due(SUNDAY) == 1


def test_a_backup_that_the_quota_does_not_allow_fails_and_the_customer_reads_why(instance, world, driver):
    Account.objects.filter(pk=world.account.pk).update(quotas={"backup_storage": 1})
    for _ in range(settings.BACKUPS_TRIES + 1):
        assert take_due(SUNDAY) == 0

    failed = Backup.objects.filter(instance=instance).values_list("status", "rotation")
    assert list(failed) == [("failed", "weekly")] * settings.BACKUPS_TRIES
    event = Event.objects.filter(action="compute_snapshot").latest("pk")
    assert event.status == "failed"
    assert event.message.startswith(
        "The weekly backup of 2026-03-01, in the window W4. The account's quota of storage of backups is 1 MB: "
    )
    assert compare(world.account.pk) == {}
    Account.objects.filter(pk=world.account.pk).update(quotas={})
    assert take_due(day(1)) == 1, "with a larger quota, the next day has its backup"


# --- what is kept ----------------------------------------------------------------------------------------


def test_the_last_daily_weekly_and_biweekly_backups_are_kept(instance, driver):
    seen = []
    for number in range(16):
        back_up(day(number), driver)
        seen.append(kept(instance))
        assert driver.archives.keys() == {
            archive for row in Backup.objects.filter(instance=instance) for archive in row.archives
        }

    assert seen[0] == [("weekly", "Sun 01")]
    assert seen[1] == [("weekly", "Sun 01"), ("daily", "Mon 02")]
    assert seen[6] == [("weekly", "Sun 01"), ("daily", "Sat 07")]
    assert seen[7] == [("biweekly", "Sun 01"), ("daily", "Sat 07"), ("weekly", "Sun 08")]
    assert seen[13] == [("biweekly", "Sun 01"), ("weekly", "Sun 08"), ("daily", "Sat 14")]
    assert seen[15] == [("biweekly", "Sun 08"), ("weekly", "Sun 15"), ("daily", "Mon 16")]


def test_snapshots_and_automatic_backups_leave_each_other_alone(instance, world, driver):
    snapshot(world.actor, instance, "mine")
    finish(driver)
    for number in (1, 2):
        back_up(day(number), driver)

    assert Backup.objects.get(type="snapshot").status == "successful"
    assert kept(instance) == [("daily", "Tue 03")]


def test_failures_are_forgotten_after_a_while(instance, driver, settings):
    long_ago = Backup.objects.create(
        instance=instance, account=instance.account, region=instance.region, type="automatic", status="failed"
    )
    lately = Backup.objects.create(
        instance=instance, account=instance.account, region=instance.region, type="automatic", status="failed"
    )
    days = timedelta(days=settings.BACKUPS_FAILED_KEPT)
    Backup.objects.filter(pk=long_ago.pk).update(created=Now() - days - timedelta(hours=1))

    back_up(SUNDAY, driver)

    left = Backup.objects.filter(status="failed")
    assert [row.pk for row in left] == [lately.pk]


# --- day and window --------------------------------------------------------------------------------------


def waiting(number: int, **fields) -> None:
    InstanceFactory.create_batch(
        number, backups_enabled=True, backups_day="Scheduling", backups_window="Scheduling", **fields
    )


def test_schedules_that_are_left_to_the_platform_are_spread():
    region = RegionFactory()
    waiting(24, region=region)

    assert choose_schedules() == 24

    windows = Counter(Instance.objects.values_list("backups_window", flat=True))
    assert len(windows) == 12
    assert set(windows.values()) == {2}
    days = Counter(Instance.objects.values_list("backups_day", flat=True))
    assert len(days) == 7
    assert max(days.values()) - min(days.values()) <= 1
    assert "Scheduling" not in {*windows, *days}


def test_the_windows_with_the_fewest_instances_of_the_region_come_first():
    region, other = RegionFactory(), RegionFactory(id="us-other")
    full = [f"W{hour}" for hour in range(0, 24, 2) if hour != 14]
    for window in full:
        InstanceFactory(region=region, backups_enabled=True, backups_day="Monday", backups_window=window)
    InstanceFactory(region=other, backups_enabled=True, backups_day="Monday", backups_window="W14")
    waiting(1, region=region)

    choose_schedules()

    chosen = Instance.objects.latest("pk")
    assert chosen.backups_window == "W14"
    assert chosen.backups_day != "Monday"


def test_a_chosen_schedule_is_kept_and_no_backups_get_none(world):
    InstanceFactory(backups_enabled=True, backups_day="Friday", backups_window=None)
    off = InstanceFactory(backups_enabled=False)

    assert choose_schedules() == 1

    chosen = Instance.objects.get(backups_enabled=True)
    assert chosen.backups_day == "Friday"
    assert chosen.backups_window in Instance.Window.values
    assert chosen.backups_window != "Scheduling"
    off.refresh_from_db()
    assert off.backups_window is None
    event = Event.objects.get(action="compute_update", entity_id=chosen.pk, username="")
    assert event.message == (
        "The platform chose the backup schedule of the compute: "
        f"window {chosen.backups_window}, weekly backup on Friday."
    )
    assert choose_schedules() == 0


# --- two clocks ------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_two_clocks_take_one_backup_of_each_instance(world, driver):
    instances = [scheduled(world, driver) for _ in range(4)]
    start = threading.Barrier(3)
    taken: list[int] = []

    def clock() -> None:
        start.wait()
        try:
            taken.append(take_due(SUNDAY))
        finally:
            connection.close()

    clocks = [threading.Thread(target=clock) for _ in range(3)]
    for each in clocks:
        each.start()
    for each in clocks:
        each.join()

    assert sum(taken) == len(instances)
    assert Backup.objects.count() == len(instances)
    assert Job.objects.filter(kind="backup").count() == len(instances)
