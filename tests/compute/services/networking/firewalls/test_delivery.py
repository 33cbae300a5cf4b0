"""Delivery of firewalls to hosts: the newest rules win, with lost, late, slow and concurrent calls."""

import threading
from dataclasses import asdict
from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models.functions import Now

from compute.drivers.base import Address, DriverError, Refused
from compute.drivers.qemu.agent.networks.packet_filters import render
from compute.jobs.data import BootData
from compute.jobs.queue import enqueue
from compute.machine_names import machine_name
from compute.models import Firewall, FirewallDevice, Instance, Job, PacketFilter
from compute.services.networking.firewalls import delivery as books
from compute.services.networking.firewalls import firewalls
from compute.services.networking.firewalls.firewalls import FirewallChanges, FirewallSpec
from compute.services.removal import remove
from compute.worker import engine
from compute.worker.networking import packet_filters
from compute.worker.tasks import sweep
from tests.compute.memory_driver import MemoryDriver, WorkerDied, dying_once_at, failing_at
from tests.compute.run_jobs import clock, work
from tests.compute.worker.scenarios import deployed
from tests.factories import FirewallFactory
from tests.racing import RACERS, race

pytestmark = pytest.mark.django_db

ENABLED, DISABLED = FirewallChanges(status="enabled"), FirewallChanges(status="disabled")


@pytest.fixture(autouse=True)
def without_mail_ports(settings) -> None:
    """Leave mail ports open. Their delivery is tested in test_mail_ports.py."""
    settings.MAIL_PORTS_CLOSED_AFTER = None


@pytest.fixture
def notified(monkeypatch) -> list[int]:
    """The instance ids of the notifications. They are recorded, and no worker receives them."""
    notified: list[int] = []
    monkeypatch.setattr(books, "notify", lambda task, instance_id: notified.append(instance_id))
    return notified


@pytest.fixture
def instance(world, driver) -> Instance:
    """An instance that runs."""
    return deployed(world, driver, label="filtered")


@pytest.fixture
def firewall(world, instance) -> Firewall:
    """An enabled firewall on the instance, which was not delivered to the host yet."""
    return firewalls.create(world.actor, FirewallSpec("web", opening(22), [instance.pk]))


def opening(*ports: int) -> dict:
    """Return rules that accept these ports, and nothing else."""
    addresses = {"ipv4": ["0.0.0.0/0"]}
    inbound = [
        {"protocol": "TCP", "ports": str(port), "action": "ACCEPT", "addresses": addresses} for port in ports
    ]
    return {"inbound": inbound, "inbound_policy": "DROP", "outbound_policy": "ACCEPT"}


def ruleset_of(driver: MemoryDriver, instance: Instance) -> str:
    """Return the ruleset that the instance's host makes from its packet filter."""
    machine = machine_name(instance.pk)
    found = driver.firewall(machine)
    return render(machine, asdict(found)) if found else ""


def opens(port: int) -> str:
    return f"tcp dport {{ {port} }} counter accept"


def books_of(instance: Instance) -> PacketFilter:
    return PacketFilter.objects.get(pk=instance.pk)


def settled(instance: Instance, driver: MemoryDriver) -> bool:
    """Tell whether our tables say that the host has the newest rules, and the host has them."""
    row, applied = books_of(instance), driver.firewall(machine_name(instance.pk))
    return not row.pending and row.error == "" and applied is not None and applied.version == row.wanted


class TestWhatIsTold:
    def test_rules_as_they_are_and_no_more(self, firewall, instance, driver):
        assert books_of(instance).pending
        packet_filters.apply(instance.pk, driver)
        assert opens(22) in ruleset_of(driver, instance)
        assert settled(instance, driver)
        packet_filters.apply(instance.pk, driver)
        assert driver.calls.count("set_firewall") == 1

    def test_new_rules(self, world, firewall, instance, driver):
        packet_filters.apply(instance.pk, driver)
        firewalls.set_rules(world.actor, firewall, opening(443))
        assert books_of(instance).pending
        packet_filters.apply(instance.pk, driver)
        assert opens(443) in ruleset_of(driver, instance)
        assert opens(22) not in ruleset_of(driver, instance)

    def test_disabling_and_enabling_a_firewall_is_delivered(self, world, firewall, instance, driver):
        firewalls.update(world.actor, firewall, DISABLED)
        packet_filters.apply(instance.pk, driver)
        assert ruleset_of(driver, instance).endswith(f"delete table inet {machine_name(instance.pk)}\n")
        firewalls.update(world.actor, firewall, ENABLED)
        packet_filters.apply(instance.pk, driver)
        assert opens(22) in ruleset_of(driver, instance)

    def test_removing_a_device_is_delivered(self, world, firewall, instance, driver):
        packet_filters.apply(instance.pk, driver)
        firewalls.remove_device(world.actor, FirewallDevice.objects.get())
        packet_filters.apply(instance.pk, driver)
        assert "chain" not in ruleset_of(driver, instance)
        assert settled(instance, driver)

    def test_deleting_a_firewall_is_delivered(self, world, firewall, instance, driver):
        packet_filters.apply(instance.pk, driver)
        firewalls.delete(world.actor, firewall)
        packet_filters.apply(instance.pk, driver)
        assert "chain" not in ruleset_of(driver, instance)
        assert settled(instance, driver)

    def test_a_change_without_effect_on_the_filter_sends_nothing(self, world, firewall, instance, driver):
        packet_filters.apply(instance.pk, driver)
        firewalls.update(world.actor, firewall, FirewallChanges(label="another", tags=["production"]))
        firewalls.set_rules(world.actor, firewall, {"inbound": firewall.rules["inbound"]})
        other = FirewallFactory(account=world.account, status="disabled")
        device = firewalls.add_device(world.actor, other, instance.pk)
        firewalls.set_rules(world.actor, other, opening(80))
        firewalls.remove_device(world.actor, device)
        assert settled(instance, driver)

    def test_to_each_of_its_instances(self, world, firewall, instance, driver):
        second = deployed(world, driver, label="second")
        firewalls.add_device(world.actor, firewall, second.pk)
        firewalls.set_rules(world.actor, firewall, opening(443))
        for each in (instance, second):
            packet_filters.apply(each.pk, driver)
            assert opens(443) in ruleset_of(driver, each)
            assert f'"sk-{each.pk}"' in ruleset_of(driver, each)


class TestABoot:
    def test_brings_the_rules_at_the_time_of_the_boot(self, world, firewall, instance, driver):
        work(enqueue("shutdown", instance, world.actor), driver)
        boot = enqueue("boot", instance, world.actor, data=BootData(config_id=instance.configs.get().pk))
        firewalls.set_rules(world.actor, firewall, opening(443))
        work(boot, driver)
        assert opens(443) in ruleset_of(driver, instance)
        assert books_of(instance).pending, "it is confirmed by who asks the host, and soon"
        packet_filters.apply(instance.pk, driver)
        assert settled(instance, driver)

    def test_of_an_instance_without_firewall_sends_none(self, instance, driver):
        assert driver.machines[machine_name(instance.pk)]["boot"].firewall is None
        assert not PacketFilter.objects.exists()

    def test_brings_it_to_a_machine_that_was_not_there_when_it_changed(self, world, driver):
        instance = world.create(label="new")
        firewalls.create(world.actor, FirewallSpec("web", opening(22), [instance.pk]))
        packet_filters.apply(instance.pk, driver)
        assert not books_of(instance).pending
        assert machine_name(instance.pk) not in driver.machines
        work(instance.jobs.get(), driver)
        assert opens(22) in ruleset_of(driver, instance)

    def test_a_boot_with_older_rules_does_not_replace_newer_ones(self, world, firewall, instance, driver):
        """The rules change after the boot has read them, and before the host boots."""
        work(enqueue("shutdown", instance, world.actor), driver)
        boot = enqueue("boot", instance, world.actor, data=BootData(config_id=instance.configs.get().pk))

        def meanwhile(number: int, name: str) -> None:
            if name == "start":
                driver.before = lambda number, name: None
                firewalls.set_rules(world.actor, firewall, opening(443))
                packet_filters.apply(instance.pk, driver)

        driver.before = meanwhile
        work(boot, driver)
        assert opens(443) in ruleset_of(driver, instance)
        assert settled(instance, driver)


class TestNothingIsLost:
    @pytest.mark.parametrize("moment", ["before", "after"])
    def test_when_a_worker_dies(self, moment, firewall, instance, driver):
        setattr(driver, moment, dying_once_at(len(driver.calls)))
        with pytest.raises(WorkerDied):
            packet_filters.apply(instance.pk, driver)
        assert books_of(instance).pending
        packet_filters.apply(instance.pk, driver)
        assert books_of(instance).pending, "its lease has not run out"
        assert packet_filters.sweep() == 0
        PacketFilter.objects.update(lease_until=Now() - timedelta(seconds=1))
        assert packet_filters.sweep() == 1
        packet_filters.apply(instance.pk, driver)
        assert opens(22) in ruleset_of(driver, instance)
        assert settled(instance, driver)

    @pytest.mark.parametrize(
        ("error", "message"),
        [
            (DriverError("The host does not answer."), "The host does not answer."),
            (Refused("Not possible."), "Not possible."),
            (KeyError("bug"), "Unexpected KeyError: 'bug'"),
        ],
        ids=["not now", "never", "a bug"],
    )
    def test_when_the_host_fails_for_long(self, error, message, firewall, instance, driver, settings):
        driver.before = failing_at(len(driver.calls), error, times=settings.JOB_ATTEMPTS * 3)
        for number in range(settings.JOB_ATTEMPTS * 3):
            packet_filters.apply(instance.pk, driver)
            row = books_of(instance)
            assert (row.pending, row.error, row.attempt) == (True, message, number + 1)
        packet_filters.apply(instance.pk, driver)
        assert settled(instance, driver)
        assert books_of(instance).attempt == 0

    def test_and_the_host_is_asked_more_and_more_seldom(self, firewall, instance, driver, settings):
        settings.JOB_BACKOFF = 1
        driver.before = failing_at(len(driver.calls))
        for wait in (2, 4, 8, 16, 32, 60, 60, 60, 60):
            begun = clock()
            packet_filters.apply(instance.pk, driver)
            assert begun < books_of(instance).run_at - timedelta(seconds=wait) < clock()
            PacketFilter.objects.update(run_at=Now() + timedelta(hours=1))
            packet_filters.apply(instance.pk, driver)
            PacketFilter.objects.update(run_at=Now())
        assert driver.calls.count("set_firewall") == 9, "before its time it is not asked"

    def test_a_new_change_does_not_wait_for_an_old_failure(self, world, firewall, instance, driver, settings):
        settings.JOB_BACKOFF = 1000
        driver.before = failing_at(len(driver.calls), times=1)
        packet_filters.apply(instance.pk, driver)
        firewalls.set_rules(world.actor, firewall, opening(443))
        packet_filters.apply(instance.pk, driver)
        assert opens(443) in ruleset_of(driver, instance)

    def test_newer_rules_are_delivered_after_older_ones_failed(self, world, firewall, instance, driver, settings):
        """The rules change during the delivery of older ones, which then fails."""
        settings.JOB_BACKOFF = 1000

        def meanwhile(number: int, name: str) -> None:
            driver.before = lambda number, name: None
            firewalls.set_rules(world.actor, firewall, opening(443))
            raise DriverError("The host does not answer.")

        driver.before = meanwhile
        packet_filters.apply(instance.pk, driver)
        assert books_of(instance).error == "The host does not answer."
        assert packet_filters.sweep() == 1
        packet_filters.apply(instance.pk, driver)
        assert opens(443) in ruleset_of(driver, instance)
        assert settled(instance, driver)

    def test_when_a_notification_is_lost(self, firewall, instance, driver, notified, settings):
        settings.JOB_NOTIFY_PATIENCE = 600
        sweep()
        assert notified == [instance.pk]
        sweep()
        assert notified == [instance.pk], "patience: it was notified just now"
        PacketFilter.objects.update(notified_at=Now() - timedelta(minutes=11))
        sweep()
        assert notified == [instance.pk] * 2
        packet_filters.apply(instance.pk, driver)
        PacketFilter.objects.update(notified_at=None)
        sweep()
        assert notified == [instance.pk] * 2

    def test_while_another_job_runs(self, world, firewall, instance, driver):
        job = enqueue("reboot", instance, world.actor, data=BootData(config_id=instance.configs.get().pk))
        packet_filters.apply(instance.pk, driver)
        assert opens(22) in ruleset_of(driver, instance)
        assert not Job.objects.exclude(pk=job.pk).filter(finished_at=None).exists()
        assert settled(instance, driver)

    def test_on_the_way_to_another_host(self, world, firewall, instance, driver):
        packet_filters.apply(instance.pk, driver)
        machine = machine_name(instance.pk)
        driver.stop(machine)
        driver.at(Address("elsewhere")).receive(machine, driver)
        firewalls.set_rules(world.actor, firewall, opening(443))
        packet_filters.apply(instance.pk, driver)
        assert opens(443) in ruleset_of(driver, instance)

    def test_after_a_rollback_nothing_is_due(self, world, firewall, instance, driver):
        packet_filters.apply(instance.pk, driver)
        with transaction.atomic():
            firewalls.set_rules(world.actor, firewall, opening(443))
            transaction.set_rollback(True)
        assert settled(instance, driver)
        assert opens(22) in ruleset_of(driver, instance)

    def test_when_our_tables_are_older_than_the_host(self, world, firewall, instance, driver):
        """Our tables were restored from a backup, so version numbers that the host has seen are used again."""
        for port in (80, 81, 82, 83):
            firewalls.set_rules(world.actor, firewall, opening(port))
            packet_filters.apply(instance.pk, driver)
        PacketFilter.objects.update(wanted=1, applied=1)
        firewalls.set_rules(world.actor, firewall, opening(443))
        packet_filters.apply(instance.pk, driver)
        assert opens(443) in ruleset_of(driver, instance)
        assert settled(instance, driver)


class TestTheLastWins:
    def test_when_it_comes_while_the_one_before_is_told(self, world, firewall, instance, driver):
        def meanwhile(number: int, name: str) -> None:
            driver.after = lambda number, name: None
            firewalls.set_rules(world.actor, firewall, opening(443))

        driver.after = meanwhile
        packet_filters.apply(instance.pk, driver)
        assert driver.calls.count("set_firewall") == 2
        assert opens(443) in ruleset_of(driver, instance)
        assert settled(instance, driver)

    def test_over_a_worker_that_was_thought_dead(self, world, firewall, instance, driver):
        """A worker read the old rules, and delivers them after another worker has delivered the new ones."""

        def asleep(number: int, name: str) -> None:
            driver.before = lambda number, name: None
            PacketFilter.objects.update(lease_until=Now() - timedelta(seconds=1))
            firewalls.set_rules(world.actor, firewall, opening(443))
            packet_filters.apply(instance.pk, driver)
            assert opens(443) in ruleset_of(driver, instance)

        driver.before = asleep
        packet_filters.apply(instance.pk, driver)
        assert driver.calls.count("set_firewall") == 2
        assert opens(443) in ruleset_of(driver, instance)
        assert settled(instance, driver)


def test_nothing_is_left_of_it_when_the_instance_goes(firewall, instance, driver):
    claimed = books.claim(instance.pk)
    assert claimed
    remove(instance)
    assert not PacketFilter.objects.exists()
    assert books.read(claimed.instance_id) is None
    assert books.settle(claimed, 1) is False
    packet_filters.apply(claimed.instance_id, driver)
    assert "set_firewall" not in driver.calls


def test_an_instance_that_goes_meanwhile_is_no_error(firewall, instance, driver):
    """The instance is deleted after the delivery to its host, so there is nothing left to write or deliver."""
    driver.after = lambda number, name: remove(instance) if name == "set_firewall" else None
    packet_filters.apply(instance.pk, driver)
    assert not PacketFilter.objects.exists()


def test_a_worker_whose_time_is_used_up_hands_over(world, firewall, instance, driver, settings, notified):
    settings.JOB_SOFT_LIMIT = settings.JOB_DRIVER_TIMEOUT
    driver.after = lambda number, name: firewalls.set_rules(world.actor, firewall, opening(number)) and None
    packet_filters.apply(instance.pk, driver)
    assert notified == [instance.pk]
    assert driver.calls.count("set_firewall") == 1


def test_workers_are_notified_when_the_change_is_committed(
    world, firewall, instance, notified, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        firewalls.set_rules(world.actor, firewall, opening(443))
        assert notified == []
    assert notified == [instance.pk]


def test_the_sweep_that_notifies_of_jobs_notifies_of_hosts(monkeypatch):
    swept = []
    monkeypatch.setattr(engine, "sweep", lambda: swept.append("jobs"))
    monkeypatch.setattr(packet_filters, "sweep", lambda: swept.append("hosts"))
    sweep()
    assert swept == ["jobs", "hosts"]


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_a_change_is_none_outside_of_a_transaction(self, instance):
        with pytest.raises(RuntimeError):
            books.changed([instance.pk])

    def test_one_of_many_firewalls_added_at_once_is_enabled(self, world, instance):
        def put(number: int) -> Firewall:
            return firewalls.create(world.actor, FirewallSpec(f"web{number}", opening(number + 1), [instance.pk]))

        results = race(put)

        assert sum(isinstance(result, Firewall) for result in results) == 1
        assert None not in results
        assert FirewallDevice.objects.filter(instance=instance, enabled=True).count() == 1

    def test_one_of_many_firewalls_is_enabled_at_once(self, world, instance):
        made = [FirewallFactory(account=world.account, status="disabled", on=instance) for _ in range(RACERS)]

        results = race(lambda number: firewalls.update(world.actor, made[number], ENABLED))

        assert sum(isinstance(result, Firewall) for result in results) == 1
        assert None not in results
        assert Firewall.objects.filter(status="enabled").count() == 1
        assert FirewallDevice.objects.filter(enabled=True).count() == 1

    def test_changes_and_workers_at_once_end_with_the_last_on_the_host(self, world, firewall, instance, driver):
        """Half of the threads change the rules, the others deliver them. Afterwards the rest is delivered once
        more."""
        calling = threading.Lock()
        tell = driver.set_firewall

        def one_at_a_time(machine, spec):
            with calling:
                return tell(machine, spec)

        driver.set_firewall = one_at_a_time

        def act(number: int) -> bool:
            for turn in range(5):
                if number % 2:
                    firewalls.set_rules(world.actor, firewall, opening(number * 100 + turn))
                else:
                    packet_filters.apply(instance.pk, driver)
            return True

        assert race(act) == [True] * RACERS

        packet_filters.apply(instance.pk, driver)
        last = Firewall.objects.get().rules["inbound"][0]["ports"]
        assert opens(int(last)) in ruleset_of(driver, instance)
        assert settled(instance, driver)

    def test_instances_that_go_while_rules_change_are_waited_for(self, world, driver):
        made = [deployed(world, driver, label=f"racer{number}") for number in range(RACERS)]
        firewall = firewalls.create(world.actor, FirewallSpec("web", opening(22), [each.pk for each in made]))

        def act(number: int) -> bool:
            if number % 2:
                with transaction.atomic():
                    remove(made[number])
            else:
                firewalls.set_rules(world.actor, firewall, opening(number + 1))
            return True

        assert race(act) == [True] * RACERS
        assert PacketFilter.objects.count() == FirewallDevice.objects.count() == RACERS // 2
