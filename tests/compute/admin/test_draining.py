"""Emptying a host, and moving single instances to another host."""

import pytest

from accounts.models import Event
from compute.models import Host, HostMigration, Instance, Job
from compute.services.hosts import moves
from tests.compute.run_jobs import work
from tests.config.admin.pages import do, list_address, messages_of, page_address
from tests.factories import (
    HostFactory,
    HostMigrationFactory,
    RegionFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(running) -> Host:
    """Another host of the region."""
    return HostFactory(region=running.region, label="hv-other")


@pytest.fixture
def neighbour(world, running, driver) -> Instance:
    """A second instance, on the same host as the running one."""
    instance = world.create(label="web-2")
    work(instance.jobs.get(), driver)
    instance.refresh_from_db()
    assert instance.host_id == running.host_id
    return instance


def test_a_drained_host_is_closed_and_empty_at_the_end(admin, running, neighbour, other, driver):
    host = running.host
    messages = messages_of(do(admin, host, "drain", reason="Its fans are worn out."))
    assert "Moves scheduled: 2. Its fans are worn out." in messages
    host.refresh_from_db()
    assert not host.enabled
    page = admin.get(page_address(host)).content.decode()
    assert "2 left: 0 moving, 2 waiting, 0 staying" in page
    assert "enough room on other hosts" in page
    assert f"{list_address(HostMigration)}?instance__host__id__exact={host.pk}" in page

    assert moves.start_due() == 2
    assert "2 left: 2 moving, 0 waiting" in admin.get(page_address(host)).content.decode()
    for job in Job.objects.filter(kind="migrate"):
        work(job, driver)

    event_messages = Event.objects.filter(action="compute_migrate").values_list("message", flat=True)
    assert {message.removeprefix(moves.SCHEDULED) for message in event_messages} == {" Its fans are worn out."}
    assert not Instance.objects.filter(host=host).exists()
    assert {each.status for each in HostMigration.objects.all()} == {"done"}
    assert {each.host_id for each in Instance.objects.all()} == {other.pk}
    assert "No moves are scheduled." in admin.get(page_address(host)).content.decode()


def test_a_drain_without_room_waits_and_says_so(admin, running):
    do(admin, running.host, "drain", reason="Worn out.")
    assert moves.start_due() == 0
    page = admin.get(page_address(running.host)).content.decode()
    assert "1 left: 0 moving, 1 waiting" in page
    assert "not enough memory and cores and disk on other hosts" in page


def test_a_drain_skips_scheduled_moves_and_a_second_is_refused(admin, running, neighbour, other):
    HostMigrationFactory(instance=running)
    assert "Moves scheduled: 1" in messages_of(do(admin, running.host, "drain", reason="Worn out."))
    assert HostMigration.objects.count() == 2
    again = do(admin, running.host, "drain", reason="Again.").content.decode()
    assert "scheduled to move" in again


def test_a_drain_can_be_stopped(admin, running, neighbour, other):
    do(admin, running.host, "drain", reason="Worn out.")
    assert "moves cancelled: 2" in messages_of(do(admin, running.host, "stop-draining"))
    assert moves.start_due() == 0
    assert not Host.objects.get(pk=running.host_id).enabled


def test_an_instance_moves_to_the_host_that_staff_chose(admin, running, other, driver):
    HostFactory(region=running.region, label="hv-roomy", memory=other.memory * 2)
    messages = messages_of(do(admin, running, "migrate", host=other.pk, reason="A noisy neighbour."))
    assert "was started. A noisy neighbour." in messages
    work(Job.objects.get(kind="migrate"), driver)
    running.refresh_from_db()
    assert (running.host, running.status) == (other, "running")
    event = Event.objects.get(action="compute_migrate")
    assert (event.username, event.message) == ("staff", "A noisy neighbour.")
    assert HostMigration.objects.get().status == "done"


def test_a_full_host_is_refused_at_the_field(admin, running, other):
    Host.objects.filter(pk=other.pk).update(memory=1)
    page = do(admin, running, "migrate", host=other.pk, reason="Closer.")
    assert "host" in page.context["form"].errors
    running.refresh_from_db()
    assert running.status == "running"
    assert not HostMigration.objects.exists()


def test_hosts_of_other_regions_and_its_own_are_not_offered(admin, running, other):
    HostFactory(label="elsewhere", region=RegionFactory(id="us-elsewhere"))
    closed = HostFactory(region=running.region, label="closed", enabled=False)
    page = admin.post(page_address(running).replace("/change/", "/do/migrate/"))
    assert list(page.context["form"].fields["host"].queryset) == [other]
    assert "host" in do(admin, running, "migrate", host=closed.pk, reason="x").context["form"].errors


def test_many_are_moved_away_after_a_question_that_counts(admin, running, neighbour, other, driver):
    selected = {"action": "migrate-away", "_selected_action": [running.pk, neighbour.pk]}
    assert "2 instances" in admin.post(list_address(Instance), selected).content.decode()
    assert not Job.objects.filter(kind="migrate").exists()
    admin.post(list_address(Instance), {**selected, "confirmed": "yes"})
    assert Job.objects.filter(kind="migrate").count() == 2


def test_booting_many_is_asked_first_and_one_is_not(admin, running, neighbour):
    selected = {"action": "boot", "_selected_action": [running.pk, neighbour.pk]}
    assert "2 instances" in admin.post(list_address(Instance), selected).content.decode()
    do(admin, running, "boot")  # no confirmation page: the service refuses, because it runs
    assert not Job.objects.filter(kind="boot").exists()
