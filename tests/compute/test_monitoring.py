"""The measurements of compute agree with the rows."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from prometheus_client.core import Metric

from accounts import monitoring as of_accounts
from compute import monitoring
from compute.jobs.definition import KINDS
from compute.models import Address, Heartbeat, Host, Instance, Job
from compute.services import heartbeats
from managed import monitoring as of_managed
from tests.factories import AddressPoolFactory, HostFactory, InstanceFactory
from tests.messages import messages
from tests.ports import free_port

pytestmark = pytest.mark.django_db


def values(measures, name: str) -> dict[tuple[str, ...], float]:
    """Return the samples of one family by the values of their labels, in the order of the label names."""
    found: list[Metric] = [each for each in measures() if each.name == name]
    [family] = found
    return {tuple(value for _, value in sorted(each.labels.items())): each.value for each in family.samples}


def test_kinds_of_process_of_which_none_runs_are_there_with_0():
    heartbeats.record(heartbeats.Process("worker", "1.0"), ["celery"])
    heartbeats.record(heartbeats.Process("worker", "1.0"), ["celery"])
    heartbeats.record(heartbeats.Process("clock", "0.9"))
    Heartbeat.objects.filter(kind="clock").update(seen=Now() - 2 * heartbeats.MAX_SILENCE)
    assert values(monitoring.heartbeats, "skerry_processes") == {
        ("worker", "1.0"): 2, ("clock", ""): 0, ("web", ""): 0, ("stream", ""): 0,
    }  # fmt: skip


def test_queues_say_how_many_messages_wait_and_for_how_long(settings):
    with messages(settings) as broker:
        broker.send("celery", age=90)
        broker.send("celery", age=30)
        assert values(monitoring.broker_queues, "skerry_queue_messages") == {("celery",): 2, ("clock",): 0}
        found = values(monitoring.broker_queues, "skerry_queue_oldest_seconds")
        assert 90 <= found["celery",] < 690
        assert found["clock",] == 0
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    assert values(monitoring.broker_queues, "skerry_queue_messages") == {}


def test_hosts_have_metrics_of_reachability_and_use():
    host = HostFactory(label="hv1", memory=1024, memory_used=512, vcpus=8, disk=2048)
    region = host.region
    assert values(monitoring.hosts, "skerry_host_up")["hv1", region.pk] == 1
    assert values(monitoring.hosts, "skerry_host_capacity")["hv1", region.pk, "memory"] == 1024 * 1024**2
    assert values(monitoring.hosts, "skerry_host_used")["hv1", region.pk, "memory"] == 512 * 1024**2
    assert values(monitoring.hosts, "skerry_host_capacity")["hv1", region.pk, "vcpus"] == 8
    assert values(monitoring.hosts, "skerry_host_maintenance")["hv1", region.pk] == 0
    Host.objects.filter(pk=host.pk).update(unreachable_since=Now() - timedelta(seconds=90), maintenance=Now())
    assert values(monitoring.hosts, "skerry_host_up")["hv1", region.pk] == 0
    assert 90 <= values(monitoring.hosts, "skerry_host_silent_seconds")["hv1", region.pk] < 690
    assert values(monitoring.hosts, "skerry_host_enabled")["hv1", region.pk] == 0
    assert values(monitoring.hosts, "skerry_host_maintenance")["hv1", region.pk] == 1


def test_hosts_that_do_not_answer_say_how_many_jobs_wait_for_them(world):
    HostFactory(label="another")
    world.create()
    waiting = {host: number for (host, _), number in values(monitoring.hosts, "skerry_host_jobs_waiting").items()}
    assert waiting == {world.host.label: 0, "another": 0}
    Host.objects.update(unreachable_since=Now())
    waiting = {host: number for (host, _), number in values(monitoring.hosts, "skerry_host_jobs_waiting").items()}
    assert waiting == {world.host.label: 1, "another": 0}


def test_jobs_say_how_old_they_are_and_how_long_they_wait_for_a_worker(owner):
    instance = InstanceFactory(account=owner.account, status=Instance.Status.BOOTING)
    job = Job.objects.create(instance=instance, kind="boot", step="boot", deadline_at=Now() + timedelta(hours=1))
    an_hour_ago = Now() - timedelta(hours=1)
    Job.objects.filter(pk=job.pk).update(
        created=an_hour_ago, run_at=Now() - timedelta(minutes=1), error="it failed"
    )
    assert values(monitoring.jobs, "skerry_jobs")["boot", "active"] == 1
    assert values(monitoring.jobs, "skerry_jobs_failing")["boot",] == 1
    assert 3600 <= values(monitoring.jobs, "skerry_job_oldest_seconds")["boot",] < 4200
    assert 60 <= values(monitoring.jobs, "skerry_job_late_seconds")["boot",] < 660
    # a job that a worker has claimed, or that runs later, waits for no worker
    Job.objects.filter(pk=job.pk).update(lease_until=Now() + timedelta(minutes=1))
    assert values(monitoring.jobs, "skerry_job_late_seconds")["boot",] == 0
    Job.objects.filter(pk=job.pk).update(lease_until=None, run_at=Now() + timedelta(minutes=1))
    assert values(monitoring.jobs, "skerry_job_late_seconds")["boot",] == 0
    Job.objects.filter(pk=job.pk).update(state=Job.State.DONE, finished_at=Now())
    assert values(monitoring.jobs, "skerry_jobs")["boot", "active"] == 0


def test_jobs_of_one_kind_in_two_states_are_one_series_where_the_state_is_no_label(owner):
    """Prometheus refuses the whole scrape if a series occurs twice."""
    for state in (Job.State.ACTIVE, Job.State.UNDOING):
        Job.objects.create(
            instance=InstanceFactory(account=owner.account), kind="boot", step="boot", state=state,
            deadline_at=Now() + timedelta(hours=1), error="it failed",
        )  # fmt: skip
    for family in monitoring.jobs():
        series = [tuple(sample.labels.items()) for sample in family.samples]
        assert len(series) == len(set(series))
    assert values(monitoring.jobs, "skerry_jobs_failing")["boot",] == 2


def test_every_kind_of_job_has_a_metric_and_unknown_kinds_too(owner):
    Job.objects.create(kind="of_tomorrow", step="begin", deadline_at=Now() + timedelta(hours=1))
    found = values(monitoring.jobs, "skerry_job_oldest_seconds")
    assert found.keys() == {(kind,) for kind in [*KINDS, "of_tomorrow"]}
    assert values(monitoring.jobs, "skerry_jobs")["of_tomorrow", "active"] == 1


def test_instances_are_counted_by_region_and_status(owner):
    made = InstanceFactory(account=owner.account, status=Instance.Status.RUNNING)
    InstanceFactory(account=owner.account, status=Instance.Status.RUNNING, region=made.region)
    InstanceFactory(account=owner.account, status=Instance.Status.OFFLINE, region=made.region)
    assert values(monitoring.instances, "skerry_instances") == {
        (made.region_id, "running"): 2, (made.region_id, "offline"): 1,
    }  # fmt: skip


def test_pools_say_how_many_addresses_are_free(owner):
    pool = AddressPoolFactory(network="198.51.100.0/29", addresses=3)
    instance = InstanceFactory(account=owner.account, region=pool.region)
    Address.objects.filter(pk=pool.addresses.first().pk).update(instance=instance)
    key = ("public", "198.51.100.0/29", pool.region_id)
    assert values(monitoring.address_pools, "skerry_pool_addresses") == {key: 3}
    assert values(monitoring.address_pools, "skerry_pool_addresses_free") == {key: 2}


@pytest.mark.parametrize(
    ("measures", "names"),
    [
        (monitoring.drift, {"skerry_drift"}),
        (of_accounts.outbox, {"skerry_messages", "skerry_messages_given_up", "skerry_message_oldest_seconds"}),
        (of_accounts.tickets, {"skerry_tickets"}),
        (of_accounts.accounts, {"skerry_accounts"}),
        (of_managed.services, {"skerry_managed_services"}),
        (of_managed.probes, {"skerry_probes_due", "skerry_probe_late_seconds"}),
    ],
)
def test_counts_of_nothing_are_zero(measures, names):
    found = list(measures())
    assert {each.name for each in found} == names
    assert all(each.samples for each in found)
    assert all(sample.value == 0 for each in found for sample in each.samples)
