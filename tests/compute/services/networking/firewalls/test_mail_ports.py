"""Mail ports: the accounts for which they are closed, and the delivery of every decision to hosts."""

from dataclasses import asdict
from datetime import UTC, date, datetime

import pytest
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.models import Account, Event
from compute.drivers.base import DriverError
from compute.drivers.qemu.agent.networks.packet_filters import render
from compute.jobs.data import BootData
from compute.jobs.queue import enqueue
from compute.machine_names import machine_name
from compute.models import Host, Instance, PacketFilter
from compute.services.hosts.moves import migrate
from compute.services.instances.clones import CloneSpec, clone
from compute.services.networking.firewalls import firewalls, mail_ports
from compute.services.networking.firewalls.firewalls import FirewallChanges, FirewallSpec
from compute.services.removal import remove
from compute.worker.networking import packet_filters
from compute.worker.tasks import keep_mail_ports
from config.errors import Invalid
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import finish, work
from tests.compute.worker.scenarios import deployed
from tests.factories import AccountFactory, HostMigrationFactory

pytestmark = pytest.mark.django_db

DROP = "tcp dport { 25, 465, 587 } counter drop"
LETTING_MAIL_OUT = {
    "inbound_policy": "ACCEPT",
    "outbound_policy": "ACCEPT",
    "outbound": [
        {"protocol": "TCP", "ports": "25, 465, 587", "action": "ACCEPT", "addresses": {"ipv4": ["0.0.0.0/0"]}}
    ],
}


@pytest.fixture
def instance(world, driver) -> Instance:
    """A running instance of an account that was opened after the day in the settings."""
    return deployed(world, driver, label="mailer")


@pytest.fixture
def older(world) -> Account:
    """The account, opened on the last day of open mail ports."""
    world.account.created = datetime(2019, 11, 5, 23, 59, 59, tzinfo=UTC)
    world.account.save()
    return world.account


@pytest.fixture
def staff_actor(world) -> Actor:
    return Actor(world.account.pk, username="staff", is_staff=True)


def ruleset_of(driver: MemoryDriver, instance: Instance) -> str:
    """Return the ruleset that the instance's host makes from its packet filter."""
    machine = machine_name(instance.pk)
    found = driver.firewall(machine)
    return render(machine, asdict(found)) if found else ""


def deliver(driver: MemoryDriver) -> int:
    """Deliver what is due, as workers do. Returns the number of instances."""
    due = [row.pk for row in PacketFilter.objects.all() if row.pending]
    for pk in due:
        packet_filters.apply(pk, driver)
    assert not any(row.pending or row.error for row in PacketFilter.objects.all())
    return len(due)


class TestWhose:
    @pytest.mark.parametrize(
        ("created", "closed"),
        [
            (datetime(2019, 11, 5, 23, 59, 59, tzinfo=UTC), False),
            (datetime(2019, 11, 6, tzinfo=UTC), True),
            (datetime(2026, 1, 1, tzinfo=UTC), True),
        ],
    )
    @pytest.mark.parametrize("decided", [None, True, False])
    def test_follows_from_the_accounts_age_unless_staff_decided(self, created, closed, decided, world, driver):
        closed = closed if decided is None else not decided
        Account.objects.update(created=created, mail_ports_open=decided)
        assert mail_ports.are_closed(Account.objects.get()) is closed
        instance = deployed(world, driver)
        assert (DROP in ruleset_of(driver, instance)) is closed
        assert PacketFilter.objects.exists() is closed, "where nothing is dropped there is nothing to tell"
        assert mail_ports.keep() == 0, "SQL, Python and the ORM agree"

    @pytest.mark.parametrize("day", [None, date(9999, 12, 31)])
    def test_is_nobodys_where_the_day_is_never(self, day, world, settings, driver):
        settings.MAIL_PORTS_CLOSED_AFTER = day
        assert not mail_ports.are_closed(world.account)
        assert ruleset_of(driver, deployed(world, driver)) == ""
        assert mail_ports.keep() == 0


class TestANewInstance:
    def test_never_runs_without(self, world, driver):
        """The first boot brings the rules. Nothing is due for delivery before or after it."""
        instance = world.create(private_ip=True)
        assert not PacketFilter.objects.get(pk=instance.pk).pending
        finish(instance, driver)
        boot = driver.machines[machine_name(instance.pk)]["boot"].firewall
        assert (boot.version, boot.closed_ports) == (1, mail_ports.MAIL_PORTS)
        assert "set_firewall" not in driver.calls

    def test_has_them_as_a_clone(self, world, instance, driver):
        target = clone(world.actor, instance, CloneSpec())
        finish(target, driver)
        work(enqueue("boot", target, world.actor, data=BootData(config_id=target.configs.get().pk)), driver)
        assert DROP in ruleset_of(driver, target)

    def test_of_an_older_account_has_no_packet_filter_as_a_clone(self, world, older, driver):
        target = clone(world.actor, deployed(world, driver), CloneSpec())
        assert not PacketFilter.objects.filter(pk=target.pk).exists()

    def test_and_its_first_firewall_are_both_on_the_host(self, world, instance, driver):
        firewalls.create(world.actor, FirewallSpec("web", LETTING_MAIL_OUT, [instance.pk]))
        assert deliver(driver) == 1
        assert DROP in ruleset_of(driver, instance)
        assert "tcp dport { 25, 465, 587 } counter accept" in ruleset_of(driver, instance)

    def test_and_a_firewall_from_before_its_first_boot(self, world, driver):
        instance = world.create()
        firewalls.create(world.actor, FirewallSpec("web", LETTING_MAIL_OUT, [instance.pk]))
        deliver(driver)
        finish(instance, driver)
        assert DROP in ruleset_of(driver, instance)
        assert "counter accept" in ruleset_of(driver, instance)


def test_no_firewall_opens_them_be_it_enabled_disabled_or_deleted(world, instance, driver):
    firewall = firewalls.create(world.actor, FirewallSpec("web", LETTING_MAIL_OUT, [instance.pk]))
    changes = (
        lambda: None,
        lambda: firewalls.update(world.actor, firewall, FirewallChanges(status="disabled")),
        lambda: firewalls.update(world.actor, firewall, FirewallChanges(status="enabled")),
        lambda: firewalls.delete(world.actor, firewall),
    )
    for change in changes:
        change()
        assert deliver(driver) == 1
        lines = ruleset_of(driver, instance).split("\n")
        assert next(line.strip() for line in lines if "25, 465, 587" in line) == DROP


def test_a_move_brings_them(world, instance, driver):
    Host.objects.create(label="us-test-h2", region=world.region)
    HostMigrationFactory(instance=instance)
    work(migrate(world.actor, instance), driver)
    machine = driver.machines[machine_name(instance.pk)]
    assert machine["on"]
    assert machine["host"] == str(Host.objects.get(label="us-test-h2").uuid)
    assert machine["firewall"].closed_ports == mail_ports.MAIL_PORTS
    assert machine["boot"].firewall.closed_ports == mail_ports.MAIL_PORTS


class TestStaff:
    def test_open_and_close_them_for_all_instances_of_the_account(self, world, instance, staff_actor, driver):
        second, new = deployed(world, driver, label="second"), world.create(label="new")
        every = (instance, second, new)
        firewalls.create(world.actor, FirewallSpec("web", LETTING_MAIL_OUT, [second.pk]))
        deliver(driver)

        assert mail_ports.set_open(staff_actor, world.account, True) == 3
        assert deliver(driver) == 3
        finish(new, driver)
        assert not any(DROP in ruleset_of(driver, each) for each in every)
        assert "chain" not in ruleset_of(driver, instance)
        assert "tcp dport { 25, 465, 587 } counter accept" in ruleset_of(driver, second)

        assert mail_ports.set_open(staff_actor, world.account, False) == 3
        assert deliver(driver) == 3
        assert all(DROP in ruleset_of(driver, each) for each in every)
        assert mail_ports.keep() == 0

    def test_close_them_for_an_older_account_as_well(self, world, older, staff_actor, driver):
        instance = deployed(world, driver)
        assert mail_ports.set_open(staff_actor, older, False) == 1
        deliver(driver)
        assert DROP in ruleset_of(driver, instance)
        assert DROP in ruleset_of(driver, deployed(world, driver, label="newer"))

    def test_change_nothing_for_others(self, instance, staff_actor):
        assert mail_ports.set_open(staff_actor, AccountFactory(), True) == 0
        assert not PacketFilter.objects.get().pending
        assert mail_ports.keep() == 0

    def test_leave_an_event_that_the_customer_understands(self, world, instance, staff_actor):
        mail_ports.set_open(staff_actor, world.account, True)
        event = Event.objects.latest("pk")
        assert (event.action, event.username, event.entity_type) == ("account_update", "staff", "account")
        assert event.message == "The computes can now open connections to the TCP ports 25, 465 and 587."
        mail_ports.set_open(staff_actor, world.account, False)
        assert "are dropped" in Event.objects.latest("pk").message

    @pytest.mark.parametrize("wanted", [True, False])
    def test_are_told_where_it_is_so_already(self, wanted, world, staff_actor):
        Account.objects.update(mail_ports_open=wanted)
        number = Event.objects.count()
        with pytest.raises(Invalid, match="open already" if wanted else "closed already"):
            mail_ports.set_open(staff_actor, world.account, wanted)
        assert Event.objects.count() == number

    def test_are_not_lost_with_a_host_that_is_silent(self, world, instance, staff_actor, driver, settings):
        mail_ports.set_open(staff_actor, world.account, True)
        error = DriverError("The host does not answer.")
        driver.before = failing_at(len(driver.calls), error, times=settings.JOB_ATTEMPTS * 2)
        for _ in range(settings.JOB_ATTEMPTS * 2):
            packet_filters.apply(instance.pk, driver)
        assert PacketFilter.objects.get().error == "The host does not answer."
        assert packet_filters.sweep() == 1
        packet_filters.apply(instance.pk, driver)
        assert DROP not in ruleset_of(driver, instance)


class TestTheClock:
    def test_tells_hosts_of_another_day_in_the_settings(self, world, instance, driver, settings, monkeypatch):
        monkeypatch.setattr(mail_ports, "BATCH", 1)
        second = deployed(world, driver, label="second")
        for day, closed in ((None, False), (date(2019, 11, 5), True)):
            settings.MAIL_PORTS_CLOSED_AFTER = day
            keep_mail_ports()
            assert deliver(driver) == 2
            assert {DROP in ruleset_of(driver, each) for each in (instance, second)} == {closed}
            assert mail_ports.keep() == 0

    def test_tells_hosts_of_instances_that_an_earlier_release_made(self, instance, driver):
        PacketFilter.objects.all().delete()
        driver.machines[machine_name(instance.pk)]["firewall"] = None
        assert mail_ports.keep() == 1
        deliver(driver)
        assert DROP in ruleset_of(driver, instance)

    def test_tells_hosts_of_an_instance_that_was_being_created_while_staff_decided(self, world, instance, driver):
        """The create read the account, and committed after the change by staff had listed the instances."""
        Account.objects.update(mail_ports_open=True)
        assert mail_ports.keep() == 1
        deliver(driver)
        assert DROP not in ruleset_of(driver, instance)

    def test_leaves_rules_and_numbers_of_others_alone(self, world, instance, driver):
        firewalls.create(world.actor, FirewallSpec("web", LETTING_MAIL_OUT, [instance.pk]))
        deliver(driver)
        before = PacketFilter.objects.values().get()
        assert mail_ports.keep() == 0
        assert PacketFilter.objects.values().get() == before

    def test_skips_deleted_instances(self, instance):
        Account.objects.update(mail_ports_open=True, updated=Now())
        remove(instance)
        assert mail_ports.keep() == 0
