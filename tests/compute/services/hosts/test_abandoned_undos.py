"""Giving up the undo of a job whose host is gone for good."""

import pytest
from django.db.models.functions import Now

from accounts.actors import Actor
from compute.drivers.base import Unreachable
from compute.models import Host, HostMigration, Instance, Job, Reservation
from compute.services.hosts import moves
from compute.services.hosts.abandoned_undos import give_up, hosts_of
from config.errors import Invalid
from tests.compute.memory_driver import CountingDriver
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import staged
from tests.factories import HostFactory, HostMigrationFactory

pytestmark = pytest.mark.django_db

STAFF = Actor(account_id=0, username="staff", is_staff=True)
REASON = "It burnt down."


@pytest.fixture
def target(world) -> Host:
    return HostFactory(region=world.region)


@pytest.fixture
def move(world, target) -> Job:
    """A move that is undoing, and that needs both hosts."""
    return undoing_move(world, world.offline())


def undoing_move(world, instance: Instance) -> Job:
    """Return the job of a move that undoes its step `move`."""
    HostMigrationFactory(instance=instance)
    job = moves.migrate(world.actor, instance)
    Job.objects.filter(pk=job.pk).update(state="undoing", step="move", run_at=Now())
    return Job.objects.get(pk=job.pk)


def lose(*hosts: Host) -> None:
    Host.objects.filter(pk__in=[host.pk for host in hosts]).update(unreachable_since=Now(), unreachable_error="No.")


def test_a_move_to_a_lost_host_leaves_the_instance_where_it_was(world, instance, target, driver):
    move = undoing_move(world, instance)
    lose(target)

    def refuse(number: int, name: str) -> None:
        raise Unreachable("The host does not answer.")

    driver.before = refuse
    give_up(STAFF, move, REASON)
    job = work(move, CountingDriver(driver))

    instance.refresh_from_db()
    assert job.state == "failed"
    assert f"Ended by support (staff): {REASON} Not undone: move, stop." in job.error
    assert instance.status == "offline"
    assert instance.host_id != target.pk
    assert [each.host_id for each in Reservation.objects.all()] == [instance.host_id]
    assert HostMigration.objects.get().status == "pending", "it is tried again later"
    assert not instance.jobs.filter(finished_at=None).exists(), "it is free for the next job"


def test_a_job_needs_both_hosts_of_a_move_and_the_one_that_it_waits_for(move, world, target):
    assert hosts_of(move) == [world.host, target]
    third = HostFactory(region=world.region)
    Job.objects.filter(pk=move.pk).update(waits_for=third)
    assert hosts_of(Job.objects.get(pk=move.pk)) == [world.host, target, third]


def test_a_clone_needs_the_host_of_its_source(world, driver):
    job = staged("clone", world, driver)
    source = HostFactory(region=world.region, unreachable_since=Now())
    Job.objects.filter(pk=job.pk).update(waits_for=source)
    assert source in hosts_of(Job.objects.get(pk=job.pk))


def test_a_job_whose_hosts_answer_is_not_given_up(move, world, target):
    with pytest.raises(Invalid, match=f"{world.host.label}, {target.label}"):
        give_up(STAFF, move, REASON)
    move.refresh_from_db()
    assert "given_up" not in move.data


def test_one_silent_host_is_enough(move, target):
    lose(target)
    give_up(STAFF, move, REASON)
    move.refresh_from_db()
    assert move.data["given_up"] == f"Ended by support (staff): {REASON}"


def test_an_active_job_is_not_given_up(move, target):
    lose(target)
    Job.objects.filter(pk=move.pk).update(state="active")
    with pytest.raises(Invalid, match="only if the job is undoing"):
        give_up(STAFF, Job.objects.get(pk=move.pk), REASON)


def test_a_job_that_ended_meanwhile_is_refused(move, target):
    lose(target)
    Job.objects.filter(pk=move.pk).update(state="failed", finished_at=Now())
    with pytest.raises(Invalid, match="already ended"):
        give_up(STAFF, move, REASON)


def test_a_job_without_a_known_host_can_be_given_up(move):
    Job.objects.filter(pk=move.pk).update(instance=None, data={})
    job = Job.objects.get(pk=move.pk)
    assert hosts_of(job) == []
    give_up(STAFF, job, REASON)
    job.refresh_from_db()
    assert REASON in job.data["given_up"]
