"""The reconciler: its calls of hosts, its jobs, and hosts that do not answer.

The comparison and the repairs are tested in tests/compute/services/hosts/.
"""

from datetime import timedelta

import pytest
from celery import current_app
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from accounts.models import Event
from compute.drivers.base import Ended, Unreachable
from compute.jobs.data import HostObjectData
from compute.jobs.queue import enqueue, enqueue_alone
from compute.machine_names import machine_name
from compute.models import Drift, Host, Instance, Job
from compute.services.hosts import drift_records
from compute.worker import engine, reconciler, watchdog
from compute.worker.heartbeats import Clock
from tests.compute.comparing import STAFF, STRANGER, Kind, compare, unfinished
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import work
from tests.compute.watching import watch
from tests.compute.worker.scenarios import deployed
from tests.factories import HostFactory, RegionFactory

pytestmark = pytest.mark.django_db


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


def test_hosts_of_a_region_get_the_addresses_of_the_others(driver, world):
    first, second = (HostFactory(region=world.region, underlay=f"198.18.0.{n}") for n in (1, 2))
    HostFactory(region=RegionFactory(id="us-other"), underlay="198.18.0.3")
    silent = HostFactory(region=world.region)
    compare(driver)
    assert driver.peers[str(first.uuid)] == ("198.18.0.1", ("198.18.0.2",))
    assert driver.peers[str(second.uuid)] == ("198.18.0.2", ("198.18.0.1",))
    assert driver.peers[str(silent.uuid)] == ("", ())


def test_a_host_that_refuses_the_addresses_is_not_compared(driver, world, instance):
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


def test_two_workers_compare_a_host_once(driver, instance, notifications):
    Host.objects.update(reconcile_at=Now())
    assert reconciler.start_due() == 1
    assert reconciler.start_due() == 1
    assert notifications == [(drift_records.TASK_NAME, instance.host_id)] * 2
    assert reconciler.reconcile(instance.host_id, driver) == 0
    assert reconciler.reconcile(instance.host_id, driver) is None
    assert reconciler.start_due() == 0


def test_a_comparison_costs_the_same_however_much_there_is(world, driver, instance, machine):
    def queries() -> int:
        Host.objects.update(reconcile_at=Now())
        with CaptureQueriesContext(connection) as captured:
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


@pytest.mark.parametrize("watched", [True, False])
def test_instances_that_went_off_with_their_host_are_booted_again(driver, instance, watched):
    Instance.objects.update(watchdog_enabled=watched, updated=Now() - timedelta(minutes=1))
    driver.fall(machine_name(instance.pk), Ended.HOST)
    assert watch(driver) == 1
    assert Event.objects.get(action="host_reboot").message == watchdog.BOOTED_AGAIN
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


@pytest.mark.django_db(transaction=True)
def test_a_clock_that_starts_has_every_host_compared_once():
    HostFactory()
    clock = Clock(app=current_app, schedule={}, lazy=True)
    for due in (1, 0):
        Host.objects.update(reconcile_at=Now() + timedelta(hours=1))
        clock.tick()
        assert len(drift_records.due()) == due
    clock.close()
