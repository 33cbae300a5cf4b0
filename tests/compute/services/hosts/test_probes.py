"""Probes of hosts: one at a time for each host, and few at a time for hosts that are known not to answer."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from compute.drivers.base import Unreachable
from compute.models import Host, Instance, PacketFilter
from compute.services.hosts import probes
from compute.worker import reconciler, sampling, watchdog
from compute.worker.networking import packet_filters
from tests.compute.memory_driver import MemoryDriver
from tests.compute.watching import watch
from tests.compute.worker.scenarios import deployed
from tests.factories import HostFactory

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


def test_a_host_is_asked_by_one_probe_at_a_time_and_hangs_for_no_other(world):
    other = HostFactory(region=world.region)
    claimed = probes.claim(world.host.pk)
    assert claimed is not None
    assert probes.claim(world.host.pk) is None
    assert probes.due() == [other.pk]
    assert probes.claim(other.pk) is not None


def test_it_is_due_again_before_the_next_round_of_the_clock(world, settings):
    settings.WATCHDOG_EVERY = 3600
    host, lease = probes.claim(world.host.pk)
    probes.give_back(host.pk, lease)
    assert probes.due() == []
    assert probes.claim(host.pk) is None, "a notification that comes twice asks once"
    Host.objects.update(probe_at=Now() - MINUTE)
    assert probes.due() == [host.pk]


def test_a_probe_whose_worker_died_is_taken_up_when_its_lease_is_over(world):
    _, lost = probes.claim(world.host.pk)
    Host.objects.update(probe_lease=Now() - MINUTE)
    claimed = probes.claim(world.host.pk)
    assert claimed is not None
    probes.give_back(world.host.pk, lost)
    assert probes.claim(world.host.pk) is None, "who lost the lease gives back nothing"


def test_a_worker_that_dies_keeps_others_from_the_host_for_little_more_than_a_call(world, settings):
    settings.JOB_DRIVER_TIMEOUT, settings.JOB_LEASE = 600, 3600
    host, lease = probes.claim(world.host.pk)
    assert lease - host.probe_at < timedelta(seconds=3000)


def test_the_lease_is_given_back_after_an_error_of_the_driver(world):
    class Broken:
        def at(self, address):
            raise RuntimeError("no such driver")

    with pytest.raises(RuntimeError):
        watchdog.watch(world.host.pk, Broken())
    assert Host.objects.get(pk=world.host.pk).probe_lease is None


def test_only_a_few_silent_hosts_are_probed_at_once(world):
    silent = [HostFactory(region=world.region, unreachable_since=Now()) for _ in range(4)]
    taken = [host.pk for host in silent if probes.claim(host.pk)]
    assert len(taken) == probes.MAX_PROBES_OF_SILENT_HOSTS
    assert probes.claim(world.host.pk) is not None

    host = Host.objects.get(pk=taken[0])
    probes.give_back(host.pk, host.probe_lease)
    left = [each.pk for each in silent if each.pk not in taken]
    assert probes.claim(left[0]) is not None


def test_the_clock_notifies_of_each_host(world, monkeypatch):
    other = HostFactory(region=world.region)
    notified = []
    monkeypatch.setattr(watchdog, "notify", lambda task, host_id: notified.append((task, host_id)))
    assert watchdog.start_due() == 2
    assert notified == [(probes.TASK_NAME, world.host.pk), (probes.TASK_NAME, other.pk)]


@pytest.fixture
def away(world, driver: MemoryDriver) -> Instance:
    """An instance with a filter to deliver, on a host that is known not to answer."""
    instance = deployed(world, driver)
    PacketFilter.objects.update_or_create(instance=instance, defaults={"wanted": 2, "applied": 1})
    Host.objects.update(unreachable_since=Now(), reconcile_at=Now() - MINUTE)

    def refuse(number: int, name: str) -> None:
        raise Unreachable("The host does not answer.")

    driver.before = refuse
    driver.usage = lambda: refuse(0, "usage")  # type: ignore[assignment, method-assign, func-returns-value]
    driver.calls.clear()
    return instance


def test_nothing_but_the_probe_calls_a_host_that_is_away(world, driver, away):
    packet_filters.apply(away.pk, driver)
    sampling.sample(driver)
    assert reconciler.reconcile(world.host.pk, driver) is None
    assert (reconciler.start_due(), packet_filters.sweep()) == (0, 0)
    assert driver.calls == []


def test_all_of_it_goes_on_when_the_host_answers(world, driver, away):
    sampled = []
    driver.before = lambda number, name: None
    driver.usage = lambda: sampled.append(1) or []  # type: ignore[func-returns-value, method-assign]
    watch(driver)
    assert (reconciler.start_due(), packet_filters.sweep()) == (1, 1)
    packet_filters.apply(away.pk, driver)
    assert PacketFilter.objects.get(instance=away).applied == 2
    assert reconciler.reconcile(world.host.pk, driver) is not None
    sampling.sample(driver)
    assert sampled
