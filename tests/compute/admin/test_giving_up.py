"""Giving up the undo of a job on a host that is gone for good."""

import pytest
from django.db.models.functions import Now

from accounts.models import Event
from compute.drivers.base import Unreachable
from compute.models import Address, Host, Instance, Job, Reservation
from compute.services.hosts import registry
from compute.services.instances import instances
from compute.worker import engine
from config.errors import Busy
from tests.compute.memory_driver import CountingDriver
from tests.compute.run_jobs import work
from tests.config.admin.pages import do, messages_of, page_address

pytestmark = pytest.mark.django_db

SURE = {"gone": "on", "reason": "It burnt down."}


@pytest.fixture
def lost(driver):
    """The driver of hosts that never answer again."""

    def silence(number: int, name: str) -> None:
        raise Unreachable("The host does not answer.")

    def lose(host: Host) -> CountingDriver:
        driver.before = silence
        Host.objects.filter(pk=host.pk).update(unreachable_since=Now(), unreachable_error="No route.")
        return CountingDriver(driver)

    return lose


def undoing(job: Job, driver: CountingDriver) -> Job:
    """Return the job after more attempts, none of which can succeed."""
    for _ in range(3):
        engine.run(job.pk, driver)
        Job.objects.filter(pk=job.pk).update(run_at=Now(), lease_until=None)
    job.refresh_from_db()
    assert job.state == "undoing", job.state
    return job


@pytest.fixture
def deletion(world, running, lost) -> tuple[Job, CountingDriver]:
    """The deletion of an instance whose host is lost before it deleted the machine."""
    driver = lost(running.host)
    instances.delete(world.actor, running)
    job = running.jobs.get(kind="delete")
    Job.objects.filter(pk=job.pk).update(state="undoing", run_at=Now())
    return undoing(job, driver), driver


def test_a_deletion_ends_and_frees_addresses_and_room(admin, deletion, running):
    job, driver = deletion
    addresses = list(Address.objects.filter(instance=running))
    assert addresses
    assert "the job ends in a moment" in messages_of(do(admin, job, "give-up", **SURE))

    work(job, driver)

    job.refresh_from_db()
    assert job.state == "failed"
    assert "Ended by support (staff): It burnt down. Not undone: undefine." in job.error
    assert not Instance.objects.filter(pk=running.pk).exists()
    assert not Address.objects.filter(pk__in=[each.pk for each in addresses], instance__isnull=False).exists()
    assert not Reservation.objects.exists()
    assert Host.objects.get(pk=running.host_id).memory_used == 0
    event = Event.objects.get(action="compute_delete")
    assert event.status == "failed"
    assert "Ended by support (staff): It burnt down." in event.message


def test_an_instance_on_a_lost_host_is_deleted_at_once(admin, running, lost):
    """As docs/operating.md describes, without waiting for the deadline of the job."""
    host, driver = running.host, lost(running.host)
    do(admin, running, "delete")
    job = running.jobs.get(kind="delete")
    engine.run(job.pk, driver)
    job.refresh_from_db()
    assert (job.state, job.waits_for_id) == ("active", host.pk)
    with pytest.raises(Busy):
        registry.remove(host)

    do(admin, job, "cancel")
    engine.run(job.pk, driver)
    job.refresh_from_db()
    assert (job.state, job.waits_for_id) == ("undoing", host.pk)

    do(admin, job, "give-up", **SURE)
    work(job, driver)
    assert not Instance.objects.filter(pk=running.pk).exists()
    registry.remove(host)
    assert not Host.objects.filter(pk=host.pk).exists()


def test_staff_have_to_be_sure_and_say_why(admin, deletion):
    job, _ = deletion
    assert do(admin, job, "give-up", reason="It burnt down.").context["form"].errors.keys() == {"gone"}
    assert do(admin, job, "give-up", gone="on").context["form"].errors.keys() == {"reason"}
    job.refresh_from_db()
    assert "given_up" not in job.data


def test_a_job_whose_host_answers_is_not_given_up(admin, deletion, running):
    job, _ = deletion
    Host.objects.filter(pk=running.host_id).update(unreachable_since=None)
    assert "All hosts of the job answer" in do(admin, job, "give-up", **SURE).content.decode()
    job.refresh_from_db()
    assert "given_up" not in job.data


def buttons_of(admin, job) -> list[str]:
    """Return the labels of the buttons on the job's page."""
    return [button.label for button in admin.get(page_address(job)).context["verbs"]]


def test_the_button_stands_on_the_page_of_a_job_that_is_undoing_on_a_silent_host(admin, deletion, running):
    job, _ = deletion
    assert "Stop undoing" in buttons_of(admin, job)
    assert "Stop undoing" not in buttons_of(admin, running.jobs.earliest("pk"))
    Host.objects.update(unreachable_since=None)
    assert "Stop undoing" not in buttons_of(admin, job)
