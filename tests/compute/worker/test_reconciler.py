"""The reconciler: one test for each kind of drift, made by hand on the host, and tests of what it leaves alone."""

from datetime import timedelta

import pytest
from celery import current_app
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from accounts.actors import Actor
from accounts.models import Event
from compute.drivers.base import Address, DiskSpec, Ended, Leftover, Unreachable, VolumeSpec
from compute.jobs.data import BootData, HostObjectData
from compute.jobs.queue import enqueue, enqueue_alone
from compute.machine_names import disk_name, machine_name
from compute.models import Disk, Drift, Host, Instance, Job
from compute.models.volumes import volume_name
from compute.services.hosts import drift_records, drift_verbs
from compute.services.hosts.reachability import record_reachable, record_unreachable
from compute.worker import engine, reconciler, watchdog
from compute.worker.heartbeats import Clock
from config.db.clock import database_now
from config.errors import Busy, Invalid
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import work
from tests.compute.watching import watch
from tests.compute.worker.scenarios import deployed, volume_of
from tests.factories import HostFactory, RegionFactory

pytestmark = pytest.mark.django_db

Kind = Drift.Kind
STAFF = Actor(account_id=0, username="staff", is_staff=True)
STRANGER = "skerry-999999"


@pytest.fixture(autouse=True)
def notifications(monkeypatch) -> list:
    sent: list = []
    monkeypatch.setattr(reconciler, "notify", lambda *args: sent.append(args))
    return sent


@pytest.fixture
def instance(world, driver) -> Instance:
    return deployed(world, driver)


@pytest.fixture
def machine(instance, driver) -> dict:
    """Return the host's record of the instance. Tests change it by hand."""
    return driver.machines[machine_name(instance.pk)]


def compare(driver: MemoryDriver, host: Host | None = None) -> int | None:
    """Compare one host, or each host, once."""
    found = None
    Instance.objects.update(updated=Now() - timedelta(days=1))
    for each in [host] if host else Host.objects.order_by("pk"):
        Host.objects.filter(pk=each.pk).update(reconcile_at=Now())
        found = reconciler.reconcile(each.pk, driver)
    return found


def seen(kind: str, driver: MemoryDriver, name: str) -> Drift:
    """Return the drift of this kind, after two comparisons. Checks that there is no other drift."""
    compare(driver)
    compare(driver)
    (found,) = Drift.objects.all()
    assert (found.kind, found.name, found.seen) == (kind, name, 2), found.detail
    return found


def test_hosts_of_a_region_are_told_of_each_other(driver, world):
    first, second = (HostFactory(region=world.region, underlay=f"198.18.0.{n}") for n in (1, 2))
    HostFactory(region=RegionFactory(id="us-other"), underlay="198.18.0.3")
    silent = HostFactory(region=world.region)
    compare(driver)
    assert driver.peers[str(first.uuid)] == ("198.18.0.1", ("198.18.0.2",))
    assert driver.peers[str(second.uuid)] == ("198.18.0.2", ("198.18.0.1",))
    assert driver.peers[str(silent.uuid)] == ("", ())


def test_who_cannot_be_told_is_not_compared(driver, world, instance):
    driver.machines.clear()
    HostFactory(region=world.region, underlay="198.18.0.1")
    driver.before = refuse_peers
    compare(driver)
    compare(driver)
    assert not Drift.objects.exists()
    driver.before = lambda number, name: None
    watch(driver)
    compare(driver)
    assert Drift.objects.exists()


def refuse_peers(number: int, name: str) -> None:
    if name == "set_peers":
        raise Unreachable("The host does not answer.")


def unfinished() -> Job:
    return Job.objects.get(finished_at=None)


def is_over(drift: Drift, driver: MemoryDriver) -> None:
    compare(driver)
    drift.refresh_from_db()
    assert drift.resolved_at is not None, drift.detail


# --- the kinds ----------------------------------------------------------------------------------------------------


def test_where_hosts_and_rows_agree_nothing_is_found(world, driver, instance):
    volume_of(world, driver, instance=instance)
    deployed(world, driver, running=False, label="off")
    assert compare(driver) == 0
    assert not Drift.objects.exists()


def test_a_machine_that_nobody_knows_is_set_aside_by_staff_and_deleted_by_a_second_verb(driver, instance, machine):
    driver.machines[STRANGER] = {**machine, "disks": {"skerry-999999-disk-1": DiskSpec("d", 1, "ext4")}}
    drift = seen(Kind.UNKNOWN_MACHINE, driver, STRANGER)
    assert "on" in drift.detail
    assert "skerry-999999-disk-1" in drift.detail
    assert not Job.objects.filter(finished_at=None).exists()

    work(drift_verbs.set_aside(STAFF, drift), driver)
    assert STRANGER not in driver.machines
    assert list(driver.aside) == [f"aside/{STRANGER}"]
    is_over(drift, driver)
    compare(driver)

    kept = Drift.objects.get(resolved_at=None)
    assert (kept.kind, kept.name) == (Kind.SET_ASIDE, f"aside/{STRANGER}")
    work(drift_verbs.discard(STAFF, kept), driver)
    assert driver.aside == {}
    is_over(kept, driver)


def test_a_machine_that_is_not_there_is_defined_again_and_booted_if_it_ran(driver, instance, machine):
    name = machine_name(instance.pk)
    lost = driver.machines.pop(name)
    drift = seen(Kind.MISSING_MACHINE, driver, name)
    assert drift.instance == instance
    instance.refresh_from_db()
    assert instance.status == "running"

    driver.machines[name] = {**lost, "on": False}  # its disks were put back
    job = drift_verbs.define_again(STAFF, drift)
    work(job, driver)
    instance.refresh_from_db()
    assert (instance.status, driver.machines[name]["on"]) == ("running", True)
    is_over(drift, driver)


def test_a_disk_that_nobody_knows_is_set_aside_by_staff(driver, instance, machine):
    machine["disks"]["skerry-1-disk-999999"] = DiskSpec("x", 1, "ext4")
    drift = seen(Kind.UNKNOWN_DISK, driver, "skerry-1-disk-999999")
    assert drift.instance == instance
    compare(driver)
    assert "skerry-1-disk-999999" in machine["disks"]

    work(drift_verbs.set_aside(STAFF, drift), driver)
    assert list(driver.aside) == ["aside/skerry-1-disk-999999"]
    assert machine["on"]
    is_over(drift, driver)


def test_a_disk_that_is_not_there_is_shown(driver, instance, machine):
    disk = instance.disks.earliest("pk")
    name = disk_name(instance.pk, disk.pk)
    content = machine["disks"].pop(name)
    drift = seen(Kind.MISSING_DISK, driver, name)
    assert drift.disk == disk

    machine["disks"][name] = content
    drift_verbs.compare_again(drift)
    assert drift_records.due() == [instance.host_id]
    is_over(drift, driver)


def test_a_volume_that_nobody_knows_is_set_aside_by_staff_and_seen_at_one_host(world, driver, instance):
    HostFactory(region=world.region)
    driver.volumes["skerry-volume-999999"] = VolumeSpec("skerry-volume-999999", "us-test", 20, "nvme")
    drift = seen(Kind.UNKNOWN_VOLUME, driver, "skerry-volume-999999")
    work(drift_verbs.set_aside(STAFF, drift), driver)
    assert driver.volumes == {}
    is_over(drift, driver)
    assert Drift.objects.get(resolved_at=None).kind == Kind.SET_ASIDE


def test_a_volume_that_is_not_there_is_shown(world, driver):
    volume = volume_of(world, driver)
    driver.volumes.clear()
    drift = seen(Kind.MISSING_VOLUME, driver, volume_name(volume.pk))
    assert drift.volume == volume


def test_a_machine_that_is_on_while_its_row_says_off_makes_the_row_right(world, driver):
    instance = deployed(world, driver, running=False)
    driver.machines[machine_name(instance.pk)]["on"] = True
    drift = seen(Kind.WRONG_POWER, driver, machine_name(instance.pk))
    instance.refresh_from_db()
    assert instance.status == "running"
    assert driver.machines[machine_name(instance.pk)]["on"], "nothing that a customer may use is powered off"
    assert Event.objects.filter(action="compute_boot", message=drift_verbs.FOUND_ON).count() == 1
    assert drift.resolved_at is not None
    assert compare(driver) == 0


def test_a_machine_on_another_host_is_where_the_row_is_pointed_to(world, driver, instance, machine):
    other = HostFactory(region=world.region)
    machine["host"] = str(other.uuid)
    compare(driver)
    compare(driver)
    name = machine_name(instance.pk)
    assert set(Drift.objects.values_list("kind", "name", "host")) == {
        (Kind.MISSING_MACHINE, name, instance.host_id), (Kind.WRONG_HOST, name, other.pk),
    }  # fmt: skip
    drift_verbs.point_here(STAFF, Drift.objects.get(kind=Kind.WRONG_HOST))
    instance.refresh_from_db()
    assert instance.host == other
    assert list(instance.reservations.values_list("host", flat=True)) == [other.pk]
    assert driver.machines[name]["on"]
    compare(driver)
    assert not Drift.objects.filter(resolved_at=None).exists()


class Both:
    """Two hosts that each have a machine of the same name."""

    def __init__(self, first: MemoryDriver, other: MemoryDriver, host: Host):
        self.drivers = first, other
        self.name = str(host.uuid)

    def at(self, address: Address) -> MemoryDriver:
        return self.drivers[address.name == self.name].at(address)


@pytest.mark.parametrize("on", [True, False])
def test_a_machine_on_two_hosts_is_set_aside_where_the_row_does_not_say_unless_it_is_on(
    world, driver, instance, machine, on
):
    other, elsewhere = HostFactory(region=world.region), MemoryDriver()
    name = machine_name(instance.pk)
    elsewhere.machines[name] = {**machine, "on": on, "plugged": {}, "host": str(other.uuid)}
    both = Both(driver, elsewhere, other)
    drift = seen(Kind.WRONG_HOST, both, name)
    assert drift.host == other
    job = work(drift_verbs.set_aside(STAFF, drift), both)
    assert (job.state, set(elsewhere.aside)) == (("failed", set()) if on else ("done", {f"aside/{name}"}))
    assert machine["on"]
    assert driver.aside == {}


def test_the_only_one_of_a_machine_is_not_set_aside(world, driver, instance, machine):
    other = HostFactory(region=world.region)
    machine["host"] = str(other.uuid)
    compare(driver)
    compare(driver)
    drift = Drift.objects.get(kind=Kind.WRONG_HOST)
    with pytest.raises(Invalid, match="the only one"):
        drift_verbs.set_aside(STAFF, drift)
    Drift.objects.filter(kind=Kind.MISSING_MACHINE).update(resolved_at=Now())
    machine["on"] = False
    assert work(drift_verbs.set_aside(STAFF, drift), driver).state == "failed"
    assert driver.aside == {}


def test_a_row_is_not_pointed_away_from_a_host_that_may_have_the_machine(world, driver, instance, machine):
    other = HostFactory(region=world.region)
    machine["host"] = str(other.uuid)
    compare(driver, other)
    compare(driver, other)
    with pytest.raises(Invalid, match="may have the machine as well"):
        drift_verbs.point_here(STAFF, Drift.objects.get(kind=Kind.WRONG_HOST))


def test_a_row_is_not_pointed_to_a_host_without_room(world, driver, instance, machine):
    other = HostFactory(region=world.region, memory=1)
    machine["host"] = str(other.uuid)
    compare(driver)
    compare(driver)
    with pytest.raises(Invalid, match="no room"):
        drift_verbs.point_here(STAFF, Drift.objects.get(kind=Kind.WRONG_HOST))


def test_the_empty_shell_of_a_machine_that_moved_is_removed(world, driver, instance, machine):
    """The memory driver has one machine for each name, so the other host's machine is reported by a driver of
    its own."""
    other = HostFactory(region=world.region)
    elsewhere = MemoryDriver()
    elsewhere.machines[machine_name(instance.pk)] = {
        **machine, "on": False, "disks": {}, "plugged": {}, "host": str(other.uuid),
    }  # fmt: skip
    compare(elsewhere, other)
    assert not Job.objects.filter(finished_at=None).exists(), "it was seen once"
    compare(elsewhere, other)
    work(unfinished(), elsewhere)
    assert elsewhere.machines == {}
    assert machine["disks"], "the machine itself stays"
    compare(elsewhere, other)
    assert not Drift.objects.filter(resolved_at=None).exists()


def test_a_machine_of_the_wrong_size_is_defined_again_and_stays_on(driver, instance, machine):
    machine["memory"] = 1
    drift = seen(Kind.WRONG_SIZE, driver, machine_name(instance.pk))
    work(drift_verbs.define_again(STAFF, drift), driver)
    assert (machine["memory"], machine["on"]) == (instance.type.memory, True)
    instance.refresh_from_db()
    assert instance.status == "running"
    is_over(drift, driver)


def test_a_machine_that_is_on_and_lost_its_definition_gets_it_back(driver, instance, machine):
    machine["memory"] = machine["vcpus"] = None
    drift = seen(Kind.WRONG_SIZE, driver, machine_name(instance.pk))
    assert "no longer defined" in drift.detail
    work(drift_verbs.define_again(STAFF, drift), driver)
    is_over(drift, driver)
    assert machine["on"]


def test_disks_of_one_name_in_two_machines_are_one_drift_after_the_other(world, driver, instance, machine):
    other = driver.machines[machine_name(deployed(world, driver, label="other").pk)]
    for each in (machine, other):
        each["disks"]["skerry-0-disk-0"] = DiskSpec("x", 1, "ext4")
    work(drift_verbs.set_aside(STAFF, seen(Kind.UNKNOWN_DISK, driver, "skerry-0-disk-0")), driver)
    compare(driver)
    drift = Drift.objects.get(kind=Kind.UNKNOWN_DISK, resolved_at=None)
    assert drift.seen == 1
    compare(driver)
    work(drift_verbs.set_aside(STAFF, drift), driver)
    assert "skerry-0-disk-0" not in {**machine["disks"], **other["disks"]}


def test_a_leftover_older_than_every_live_job_is_removed(world, driver, instance):
    host = str(instance.host.uuid)
    driver.leftovers[host] = [Leftover("incoming/old.part", age=7200.0)]
    Job.objects.update(created=Now() - timedelta(days=1))
    busy = enqueue("reboot", instance, world.actor, data=_boot(instance))
    Job.objects.filter(pk=busy.pk).update(created=Now() - timedelta(hours=3))
    compare(driver)
    assert not Drift.objects.exists(), "the job may have begun it"

    work(busy, driver)
    drift = seen(Kind.LEFTOVER, driver, "incoming/old.part")
    work(unfinished(), driver)
    assert driver.leftovers[host] == []
    is_over(drift, driver)


def test_what_is_half_made_of_a_disk_that_a_row_knows_as_ready_is_left(driver, instance, machine):
    disk = instance.disks.earliest("pk")
    name = disk_name(instance.pk, disk.pk)
    machine["disks"].pop(name)
    part = Leftover(f"machines/x/{name}.part", machine_name(instance.pk), name, 7200.0)
    driver.leftovers[str(instance.host.uuid)] = [part]
    assert seen(Kind.MISSING_DISK, driver, name)


def _boot(instance: Instance) -> BootData:
    return BootData(config_id=instance.configs.get().pk)


# --- jobs ---------------------------------------------------------------------------------------------------------


def job_on(host: Host, kind: str, drift_kind: str, name: str) -> Job:
    """Return a job that was enqueued without the check of a verb."""
    return enqueue_alone(kind, STAFF, None, HostObjectData(host_id=host.pk, kind=drift_kind, name=name))


def test_jobs_of_the_release_before_are_finished(driver, instance, machine):
    """The release before has one kind for both effects. Its processes may still enqueue jobs of that kind."""
    driver.machines[STRANGER] = {**machine}
    job = work(job_on(instance.host, "tidy", Kind.UNKNOWN_MACHINE, STRANGER), driver)
    assert (job.state, set(driver.aside)) == ("done", {f"aside/{STRANGER}"})
    job = work(job_on(instance.host, "tidy", Kind.SET_ASIDE, f"aside/{STRANGER}"), driver)
    assert (job.state, driver.aside) == ("done", {})


def test_an_object_that_was_not_set_aside_is_never_deleted(driver, instance, machine):
    driver.machines[STRANGER] = {**machine}
    job = work(job_on(instance.host, "delete_host_object", Kind.UNKNOWN_MACHINE, STRANGER), driver)
    assert (job.state, STRANGER in driver.machines) == ("failed", True)
    job = work(job_on(instance.host, "set_aside_host_object", Kind.LEFTOVER, STRANGER), driver)
    assert (job.state, STRANGER in driver.machines) == ("failed", True)


# --- races --------------------------------------------------------------------------------------------------------


def test_an_instance_with_a_live_job_is_left_out(world, driver, instance):
    driver.machines.pop(machine_name(instance.pk))
    enqueue("reboot", instance, world.actor, data=_boot(instance))
    compare(driver)
    compare(driver)
    assert not Drift.objects.exists()


def test_an_instance_that_was_written_since_the_inventory_is_left_out(driver, instance, machine):
    class Late(MemoryDriver):
        def inventory(self):
            found = super().inventory()
            Instance.objects.update(updated=Now() + timedelta(seconds=1))
            return found

    machine["on"] = False
    late = Late()
    late.machines, late.volumes = {}, driver.volumes
    for _ in range(2):
        Host.objects.update(reconcile_at=Now())
        reconciler.reconcile(instance.host_id, late)
    assert not Drift.objects.exists()


def test_what_was_seen_once_and_then_not_is_over_and_begins_anew(driver, instance, machine):
    driver.machines[STRANGER] = {**machine}
    compare(driver)
    drift = Drift.objects.get()
    with pytest.raises(Invalid, match="seen once"):
        drift_verbs.set_aside(STAFF, drift)
    del driver.machines[STRANGER]
    is_over(drift, driver)
    driver.machines[STRANGER] = {**machine}
    compare(driver)
    assert Drift.objects.get(resolved_at=None).seen == 1
    assert Drift.objects.count() == 2


def test_a_machine_that_a_row_knows_by_now_is_not_set_aside(world, driver, instance, machine):
    driver.machines[STRANGER] = {**machine}
    drift = seen(Kind.UNKNOWN_MACHINE, driver, STRANGER)
    job = drift_verbs.set_aside(STAFF, drift)
    with pytest.raises(Busy):
        drift_verbs.set_aside(STAFF, drift)
    Instance.objects.filter(pk=instance.pk).update(label="else")
    known = Instance.objects.get(pk=instance.pk)
    known.pk, known.label = 999999, "known"
    known.save(force_insert=True)
    assert work(job, driver).state == Job.State.FAILED
    assert driver.machines[STRANGER]["on"]


def test_two_workers_take_one_look(driver, instance, notifications):
    Host.objects.update(reconcile_at=Now())
    assert reconciler.start_due() == 1
    assert reconciler.start_due() == 1
    assert notifications == [(drift_records.TASK_NAME, instance.host_id)] * 2
    assert reconciler.reconcile(instance.host_id, driver) == 0
    assert reconciler.reconcile(instance.host_id, driver) is None
    assert reconciler.start_due() == 0


def test_a_look_costs_the_same_however_much_there_is(world, driver, instance, machine):
    def queries() -> int:
        Host.objects.update(reconcile_at=Now())
        with CaptureQueriesContext(
            connection,
        ) as captured:
            reconciler.reconcile(instance.host_id, driver)
        return len(captured)

    driver.machines[STRANGER] = {**machine}
    compare(driver)
    few = queries()
    for number in range(5):
        deployed(world, driver, label=f"web-{number}")
        driver.machines[f"{STRANGER}{number}"] = {**machine}
    compare(driver)
    assert queries() == few


# --- hosts that do not answer, and those that come back ----------------------------------------------------------


class Silent(MemoryDriver):
    """A host that is down."""

    def __getattribute__(self, name):
        if name in ("inventory", "powered_off", "usage", "power", "start", "stop"):
            raise Unreachable("The host does not answer.", self.host)
        return super().__getattribute__(name)


def test_a_host_that_does_not_answer_says_nothing_of_its_machines(world, driver, instance):
    silent = Silent()
    assert compare(silent) is None
    assert watch(silent) == 0
    job = enqueue("shutdown", instance, world.actor)
    engine.run(job.pk, silent)
    job.refresh_from_db()
    instance.refresh_from_db()
    assert (job.finished_at, job.error, instance.status) == (None, "The host does not answer.", "shutting_down")
    assert instance.host.unreachable_since is not None
    assert not Drift.objects.exists()

    watch(driver)
    work(job, driver)
    instance.refresh_from_db()
    assert instance.status == "offline"


def test_a_host_that_answers_again_is_compared_at_once(instance):
    host = instance.host
    Host.objects.update(reconcile_at=Now() + timedelta(hours=1))
    assert drift_records.due() == []
    record_unreachable(str(host.uuid), "The host does not answer.", database_now())
    assert drift_records.due() == []
    assert record_reachable(str(host.uuid), database_now())
    assert drift_records.due() == [host.pk]


@pytest.mark.parametrize("watched", [True, False])
def test_what_was_on_when_its_host_restarted_is_booted_again(driver, instance, watched):
    Instance.objects.update(watchdog_enabled=watched, updated=Now() - timedelta(minutes=1))
    driver.fall(machine_name(instance.pk), Ended.HOST)
    assert watch(driver) == 1
    assert Event.objects.get(action="host_reboot").message == watchdog.BACK
    work(unfinished(), driver)
    instance.refresh_from_db()
    assert instance.status == "running"


def test_on_a_host_in_maintenance_it_waits_for_the_end_of_that(driver, instance):
    Host.objects.update(maintenance=Now())
    Instance.objects.update(updated=Now() - timedelta(minutes=1))
    driver.fall(machine_name(instance.pk), Ended.HOST)
    assert watch(driver) == 1
    instance.refresh_from_db()
    assert (instance.status, Job.objects.filter(finished_at=None).count()) == ("stopped", 0)


@pytest.mark.parametrize("why", [Ended.GUEST, Ended.KILLED])
def test_a_machine_that_went_off_stays_off_without_a_watchdog_and_its_event_says_why(driver, instance, why):
    Instance.objects.update(watchdog_enabled=False, updated=Now() - timedelta(minutes=1))
    driver.fall(machine_name(instance.pk), why)
    assert watch(driver) == 1
    instance.refresh_from_db()
    assert (instance.status, Job.objects.filter(finished_at=None).count()) == ("offline", 0)
    assert Event.objects.get(action="compute_shutdown").message == watchdog.WHY_OFF[why]


def test_old_drift_is_deleted(instance):
    old = Drift.objects.create(
        host=instance.host, kind=Kind.SHELL, name="old", resolved_at=Now() - timedelta(days=31)
    )
    Drift.objects.create(host=instance.host, kind=Kind.SHELL, name="open")
    Drift.objects.create(host=instance.host, kind=Kind.SHELL, name="new", resolved_at=Now())
    assert drift_records.delete_old() == 1
    assert not Drift.objects.filter(pk=old.pk).exists()
    assert Disk.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_clock_that_starts_has_every_host_compared_once():
    HostFactory()
    clock = Clock(app=current_app, schedule={}, lazy=True)
    for due in (1, 0):
        Host.objects.update(reconcile_at=Now() + timedelta(hours=1))
        clock.tick()
        assert len(drift_records.due()) == due
    clock.close()
