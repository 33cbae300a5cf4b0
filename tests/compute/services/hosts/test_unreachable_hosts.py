"""Hosts that do not answer, and the jobs that wait for them."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from compute.models import Instance, Job
from compute.services.hosts.placement import place
from compute.services.hosts.unreachable_hosts import jobs_needing, jobs_waiting, unreachable_hosts
from compute.services.instances import power
from tests.compute.worker.scenarios import staged
from tests.factories import HostFactory, InstanceFactory

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def test_the_longest_silence_comes_first_and_empty_disabled_hosts_are_left_out(world):
    newer = HostFactory(region=world.region, unreachable_since=Now() - MINUTE)
    older = HostFactory(region=world.region, unreachable_since=Now() - 2 * MINUTE, enabled=False)
    HostFactory(region=world.region, unreachable_since=Now(), enabled=False)
    instance = InstanceFactory(region=world.region, host=older, type=world.type)
    type(older).objects.filter(pk=older.pk).update(enabled=True)
    place(instance, world.type, world.region.pk, only=older)
    type(older).objects.filter(pk=older.pk).update(enabled=False)

    found = list(unreachable_hosts())

    assert [host.pk for host in found] == [older.pk, newer.pk]
    assert [host.waiting for host in found] == [0, 0]
    assert found[0].clock - found[0].unreachable_since >= 2 * MINUTE


def test_a_job_of_an_instance_waits_for_its_host(world):
    instance = world.offline()
    job = power.boot(world.actor, Instance.objects.get(pk=instance.pk))
    type(world.host).objects.update(unreachable_since=Now())
    assert list(jobs_needing(world.host.pk)) == [job]
    assert [host.waiting for host in unreachable_hosts()] == [1]
    Job.objects.update(state="done", finished_at=Now())
    assert [host.waiting for host in unreachable_hosts()] == [0]


def test_a_move_waits_for_both_hosts(world, driver):
    job = staged("migrate", world, driver)
    for host_id in (job.instance.host_id, job.data["host"]):
        assert list(jobs_needing(host_id)) == [job]


def test_a_clone_waits_for_the_host_of_its_source(world, driver):
    job = staged("clone", world, driver)
    source = HostFactory(region=world.region)
    Instance.objects.filter(pk=job.source_id).update(host=source)
    assert list(jobs_needing(source.pk)) == [job]


def test_a_job_waits_for_the_host_that_stopped_it(world):
    job = power.boot(world.actor, world.offline())
    other = HostFactory(region=world.region)
    assert not jobs_needing(other.pk).exists()
    Job.objects.filter(pk=job.pk).update(waits_for=other)
    assert list(jobs_needing(other.pk)) == [job]


@pytest.mark.parametrize(("number", "text"), [(0, "no jobs wait"), (1, "1 job waits"), (2, "2 jobs wait")])
def test_the_number_is_written_out(number, text):
    assert jobs_waiting(number) == text
