"""The API of migrations: to another host, to another region, and what prevents them."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.db import IntegrityError
from django.db.models.functions import Now
from django.utils.timezone import now

from accounts.models import Event, Grant, User
from compute.drivers.base import DriverError, Progress
from compute.machine_names import machine_name
from compute.models import (
    VLAN,
    Address,
    AddressPool,
    AddressShare,
    Config,
    Host,
    HostMigration,
    Instance,
    InstanceType,
    IPv6Range,
    Job,
    NodeBalancer,
    NodeBalancerNode,
    Reservation,
    Volume,
)
from compute.services.hosts import moves
from compute.services.instances import instances, power
from compute.worker import engine
from config.errors import Invalid
from regions.models import Region
from tests.client import errors
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import finish, work
from tests.compute.worker.scenarios import deployed
from tests.factories import (
    AddressPoolFactory,
    ConfigFactory,
    DiskFactory,
    HostFactory,
    HostMigrationFactory,
    InstanceFactory,
    InstanceTypeFactory,
    NodeBalancerConfigFactory,
    NodeBalancerNodeFactory,
)

pytestmark = pytest.mark.django_db

INSTANCES = "/v4/compute/instances"
ATTEMPTS = 6
"""Failures after which a step is given up. Its undo then succeeds."""
VLAN_INTERFACE = [{"purpose": "vlan", "label": "backend", "ipam_address": ""}]


@pytest.fixture
def other_host(world) -> Host:
    return HostFactory(region=world.region)


@pytest.fixture
def elsewhere(world) -> Region:
    """Another region with a host and addresses, and without VLANs."""
    region = Region.objects.create(id="us-other", country="us", capabilities=["Computes"])
    HostFactory(region=region)
    AddressPoolFactory(region=region, network="203.0.113.0/24", addresses=9)
    AddressPoolFactory(region=region, kind="private", network="10.9.0.0/24", addresses=9)
    AddressPool.objects.create(region=region, kind="slaac", network="2001:db8:99::/64", gateway="fe80::1")
    return region


def move(api, instance: Instance, **body):
    return api.post(f"{INSTANCES}/{instance.pk}/migrate", body)


def keep_failing(deletion: Job, driver) -> None:
    """Make every attempt to delete the instance fail. A deletion has more attempts than other jobs."""
    driver.before = failing_at(len(driver.calls))
    for _ in range(settings.JOB_ATTEMPTS + 3):
        engine.run(deletion.pk, driver)
        Job.objects.filter(pk=deletion.pk).update(run_at=Now())
    deletion.refresh_from_db()
    assert deletion.state == "undoing"


def held_by(instance: Instance) -> list[str]:
    """Return the IPv4 addresses of the instance."""
    return sorted(Address.objects.filter(instance=instance).values_list("address", flat=True))


def refused(api, instance: Instance, **body) -> dict:
    """Return the errors of a migration that is refused. Checks that nothing changed."""
    before = list(Instance.objects.values()), list(Reservation.objects.values()), list(Address.objects.values())
    found = errors(move(api, instance, **body))
    after = list(Instance.objects.values()), list(Reservation.objects.values()), list(Address.objects.values())
    assert after == before
    assert not Job.objects.filter(kind__startswith="migrate").exists()
    return found


# --- to another host -------------------------------------------------------------------------------------


def test_a_scheduled_migration_can_be_started_before_its_time(api, running, other_host, driver):
    old = running.host
    migration = HostMigrationFactory(
        instance=running, when=now() + timedelta(days=3), reason="Its host is worn out."
    )

    response = move(api, running)

    assert (response.status_code, response.json()) == (200, {})
    running.refresh_from_db()
    migration.refresh_from_db()
    assert (running.status, migration.status) == ("migrating", "started")
    finish(running, driver)
    migration.refresh_from_db()
    assert (running.status, migration.status) == ("running", "done")
    assert running.host != old
    assert driver.machines[machine_name(running.pk)]["host"] == str(running.host.uuid)
    assert running.reservations.get().host == running.host
    assert running.ipv4 == api.get(f"{INSTANCES}/{running.pk}").json()["ipv4"]


def test_without_one_a_region_has_to_be_named(api, running, other_host):
    assert "region" in refused(api, running)
    moves.cancel(HostMigrationFactory(instance=running))
    assert "region" in refused(api, running)


@pytest.mark.parametrize("on", [True, False])
def test_it_is_shut_down_and_booted_only_if_it_ran(on, api, world, other_host, driver):
    instance = deployed(world, driver, running=on)
    HostMigrationFactory(instance=instance)
    move(api, instance)
    first = len(driver.calls)

    finish(instance, driver)

    assert driver.calls[first:] == (["stop", "receive", "start"] if on else ["receive"])
    assert instance.status == ("running" if on else "offline")
    booted = Event.objects.filter(action="compute_boot", pk__gt=Event.objects.get(action="compute_migrate").pk)
    assert booted.count() == on


def test_an_instance_stopped_by_maintenance_still_waits_after_its_move(api, world, other_host, driver):
    instance = deployed(world, driver, running=False)
    Instance.objects.filter(pk=instance.pk).update(status="stopped")
    HostMigrationFactory(instance=instance)
    move(api, instance)
    finish(instance, driver)
    assert instance.status == "stopped"


def test_the_event_tells_how_far_it_has_come(api, running, other_host, driver):
    HostMigrationFactory(instance=running)
    move(api, running)
    (waiting,) = api.get("/v4/account/events", {"action": "compute_migrate"}).json()["data"]
    assert (waiting["percent_complete"], waiting["time_remaining"]) == (0, None), "nobody knows yet"
    driver.receive = lambda machine, source: Progress(percent=50, wait=2, rate=120.0, remaining=33.0)
    job = running.jobs.get(finished_at=None)

    engine.run(job.pk, driver)

    event = api.get("/v4/account/events", {"action": "compute_migrate"}).json()["data"][0]
    assert event["entity"]["id"] == running.pk
    assert event["status"] == "started"
    assert 0 < event["percent_complete"] < 100
    assert event["rate"]
    assert event["time_remaining"] == 33
    del driver.receive
    finish(running, driver)
    event = api.get(f"/v4/account/events/{event['id']}").json()
    assert (event["status"], event["percent_complete"], event["time_remaining"]) == ("finished", 100, 0)


def test_without_another_host_nothing_happens(api, running):
    migration = HostMigrationFactory(instance=running)
    assert refused(api, running)
    migration.refresh_from_db()
    assert migration.status == "pending"


def test_a_failure_leaves_it_running_where_it_was_and_tries_again_later(api, running, other_host, driver):
    old, reserved = running.host, list(Reservation.objects.values("host", "memory", "vcpus", "disk"))
    migration = HostMigrationFactory(instance=running)
    move(api, running)
    driver.before = failing_at(len(driver.calls) + 1, DriverError("The disk is broken."), times=ATTEMPTS)

    finish(running, driver)

    migration.refresh_from_db()
    assert (running.status, running.host, migration.status) == ("running", old, "pending")
    assert migration.when > now() + timedelta(minutes=50)
    assert list(Reservation.objects.values("host", "memory", "vcpus", "disk")) == reserved
    assert Event.objects.get(action="compute_migrate").message == "The disk is broken."
    assert driver.machines[machine_name(running.pk)]["host"] == str(old.uuid)


def test_a_move_that_took_place_before_it_failed_is_undone(api, running, other_host, driver):
    old = running.host
    HostMigrationFactory(instance=running)
    move(api, running)
    driver.after = failing_at(len(driver.calls) + 1, times=ATTEMPTS)

    finish(running, driver)

    assert (running.status, running.host) == ("running", old)
    assert driver.machines[machine_name(running.pk)]["host"] == str(old.uuid)


def test_a_boot_that_fails_does_not_undo_the_move(api, running, other_host, driver):
    old = running.host
    HostMigrationFactory(instance=running)
    move(api, running)
    driver.before = failing_at(len(driver.calls) + 2)

    job = finish(running, driver)

    assert job.state == "failed"
    assert (running.status, running.host != old) == ("offline", True)
    assert Event.objects.get(action="compute_migrate").status == "finished"
    assert Event.objects.filter(action="compute_boot").latest("pk").status == "failed"
    assert HostMigration.objects.get().status == "done"


def test_an_instance_without_profile_stays_off_after_a_failed_move(api, running, other_host, driver):
    HostMigrationFactory(instance=running)
    move(api, running)
    Config.objects.filter(instance=running).delete()
    driver.before = failing_at(len(driver.calls) + 1, times=ATTEMPTS)

    finish(running, driver)

    assert running.status == "offline"
    assert HostMigration.objects.get().status == "pending"


# --- scheduled -------------------------------------------------------------------------------------------


def test_the_clock_starts_only_due_moves(world, driver, other_host):
    due, later = deployed(world, driver), deployed(world, driver)
    HostMigrationFactory(instance=due, when=now() - timedelta(seconds=1))
    HostMigrationFactory(instance=later, when=now() + timedelta(hours=1))

    assert moves.start_due() == 1

    statuses = {instance.pk: instance.status for instance in Instance.objects.all()}
    assert statuses == {due.pk: "migrating", later.pk: "running"}
    assert Event.objects.get(action="compute_migrate").username == ""
    assert moves.start_due() == 0


def test_a_move_of_a_busy_instance_waits(world, running, driver, other_host):
    migration = HostMigrationFactory(instance=running)
    power.reboot(world.actor, running)

    assert moves.start_due() == 0
    migration.refresh_from_db()
    assert migration.status == "pending"
    finish(running, driver)
    assert moves.start_due() == 1


def test_a_move_that_cannot_start_does_not_delay_others(world, driver, other_host):
    stuck, other = deployed(world, driver), deployed(world, driver)
    for instance in (stuck, other):
        HostMigrationFactory(instance=instance)
    Config.objects.filter(instance=stuck).delete()

    assert moves.start_due() == 1
    assert HostMigration.objects.get(instance=other).status == "started"


def test_a_superseded_move_is_deleted_with_its_instance(api, world, running, driver, other_host):
    HostMigrationFactory(instance=running)
    move(api, running)
    live = running.jobs.get(finished_at=None)
    deletion = instances.delete(world.actor, running)

    work(live, driver)
    work(deletion, driver)

    assert not HostMigration.objects.exists()
    assert not Reservation.objects.exists()
    assert driver.machines == {}


def test_a_superseded_move_is_pending_during_the_deletion(api, world, running, driver, other_host):
    migration = HostMigrationFactory(instance=running, when=now() + timedelta(hours=1))
    move(api, running)
    live = running.jobs.get(finished_at=None)
    deletion = instances.delete(world.actor, running)
    work(live, driver)
    keep_failing(deletion, driver)

    moves.start_due()

    migration.refresh_from_db()
    assert migration.status == "pending"
    assert [reservation.host for reservation in Reservation.objects.all()] == [running.host]


def test_an_instance_has_one_at_a_time(running):
    HostMigrationFactory(instance=running)
    with pytest.raises(IntegrityError, match="one_host_migration"):
        HostMigrationFactory(instance=running)


def test_only_a_pending_one_can_be_cancelled(api, running, other_host):
    migration = HostMigrationFactory(instance=running)
    move(api, running)
    with pytest.raises(Invalid):
        moves.cancel(migration)


# --- to another region -----------------------------------------------------------------------------------


def test_a_region_move_takes_everything_along_but_the_addresses(api, running, elsewhere, driver):
    old_host, old_ipv4 = running.host, running.ipv4
    Address.objects.filter(instance=running).update(rdns="mine.example.com")
    shared = Address.objects.filter(instance=None, public=True, region="us-test").first()
    shared.instance = InstanceFactory(account=running.account, host=old_host)
    shared.save()
    AddressShare.objects.create(instance=running, address=shared)
    pool = AddressPool.objects.get(region="us-test", kind="slaac")
    IPv6Range.objects.create(
        account=running.account, region_id="us-test", pool=pool, instance=running, range="2001:db8:5::", prefix=64
    )
    balancer = NodeBalancer.objects.create(
        account=running.account, label="lb", region_id="us-test", hostname="lb.example.com", ipv4="198.18.9.9"
    )
    config = NodeBalancerConfigFactory(nodebalancer=balancer)
    NodeBalancerNodeFactory(config=config, instance=running, address=f"{old_ipv4[1]}:80")
    disks = list(running.disks.values())

    assert move(api, running, region="us-other").json() == {}

    shown = api.get(f"{INSTANCES}/{running.pk}").json()
    assert (shown["status"], shown["region"], shown["ipv4"]) == ("migrating", "us-test", old_ipv4)
    ips = api.get(f"{INSTANCES}/{running.pk}/ips").json()["ipv4"]
    assert [each["address"] for each in ips["public"]] == old_ipv4[:1], "it has not arrived yet"
    finish(running, driver)
    shown = api.get(f"{INSTANCES}/{running.pk}").json()
    assert (shown["status"], shown["region"]) == ("running", "us-other")
    assert [address.rsplit(".", 1)[0] for address in shown["ipv4"]] == ["203.0.113", "10.9.0"]
    assert shown["ipv6"].startswith("2001:db8:99:")
    assert list(running.disks.values()) == disks
    assert running.host.region_id == "us-other"
    assert driver.machines[machine_name(running.pk)]["host"] == str(running.host.uuid)
    assert held_by(running) == sorted(running.ipv4)
    assert not Address.objects.filter(address__in=old_ipv4).exclude(instance=None, rdns=None).exists()
    assert not Address.objects.filter(rdns="mine.example.com").exists()
    assert not AddressShare.objects.exists()
    assert not IPv6Range.objects.exists()
    assert not NodeBalancerNode.objects.exists()
    assert not Reservation.objects.filter(host=old_host).exists()


def test_it_boots_with_the_new_addresses(api, running, elsewhere, driver):
    booted = []
    start = driver.start
    driver.start = lambda machine, boot: booted.append(boot) or start(machine, boot)
    move(api, running, region="us-other")

    finish(running, driver)

    assert [boot.ipv4 for boot in booted] == [tuple(running.ipv4)]
    assert f"{booted[0].ipv6}/128" == running.ipv6


def test_the_event_of_a_region_move_has_a_name_of_its_own(api, running, elsewhere, driver):
    move(api, running, region="us-other")
    finish(running, driver)
    event = api.get("/v4/account/events", {"action": "compute_migrate_datacenter"}).json()["data"][0]
    assert (event["entity"]["id"], event["status"], event["percent_complete"]) == (running.pk, "finished", 100)


def test_a_region_move_that_fails_gives_the_new_addresses_back(api, running, elsewhere, driver):
    before = Instance.objects.values().get()
    reserved = list(Reservation.objects.values("host", "memory", "vcpus", "disk"))
    move(api, running, region="us-other")
    driver.after = failing_at(len(driver.calls) + 1, DriverError("The line is down."), times=ATTEMPTS)

    finish(running, driver)

    after = Instance.objects.values().get()
    assert {name: after[name] for name in after if after[name] != before[name]}.keys() <= {"updated"}
    assert held_by(running) == sorted(before["ipv4"])
    assert list(Reservation.objects.values("host", "memory", "vcpus", "disk")) == reserved
    assert Event.objects.get(action="compute_migrate_datacenter").status == "failed"


@pytest.mark.parametrize("arrived", [False, True])
def test_a_superseded_move_keeps_one_host_while_the_deletion_is_tried(
    arrived, api, world, running, elsewhere, driver
):
    before = list(running.ipv4)
    move(api, running, region="us-other")
    live = running.jobs.get(finished_at=None)
    setattr(driver, "start" if arrived else "receive", lambda *args: Progress(percent=10, wait=60))
    engine.run(live.pk, driver)
    deletion = instances.delete(world.actor, running)
    work(live, driver)
    keep_failing(deletion, driver)

    running.refresh_from_db()
    assert running.region_id == ("us-other" if arrived else "us-test")
    assert (running.ipv4 == before) is not arrived
    assert held_by(running) == sorted(running.ipv4)
    assert [reservation.host for reservation in Reservation.objects.all()] == [running.host]


def test_a_region_move_cancels_scheduled_moves(api, running, elsewhere, other_host):
    migration = HostMigrationFactory(instance=running, when=now() + timedelta(days=1))
    move(api, running, region="us-other")
    migration.refresh_from_db()
    assert migration.status == "cancelled"


@pytest.mark.parametrize("first", ["host", "region"])
def test_no_region_move_begins_while_a_migration_is_under_way(first, api, running, elsewhere, other_host):
    HostMigrationFactory(instance=running)
    move(api, running, **({} if first == "host" else {"region": "us-other"}))
    assert errors(move(api, running, region="us-other")) == {None: "Compute busy."}


def test_the_number_of_addresses_stays(api, world, running, elsewhere, driver):
    extra = Address.objects.filter(instance=None, public=True, region="us-test").first()
    Address.objects.filter(pk=extra.pk).update(instance=running)
    Instance.objects.filter(pk=running.pk).update(ipv4=[*running.ipv4, extra.address])

    move(api, running, region="us-other")
    finish(running, driver)

    assert [address.startswith("203.") for address in running.ipv4] == [True, True, False]


# --- refusals --------------------------------------------------------------------------------------------


def test_only_a_region_that_is_another_and_can_take_it(api, running, elsewhere):
    assert refused(api, running, region="nowhere") == {"region": "region is not valid"}
    upgrade = refused(api, running, region="us-test", upgrade=True)
    assert upgrade["region"] == "The compute is in this region already."
    Region.objects.filter(pk="us-other").update(capabilities=["Block Storage"])
    assert refused(api, running, region="us-other") == {"region": "This region does not offer Computes."}


def test_a_move_to_the_region_that_it_is_in_changes_nothing_and_has_a_finished_event(api, running):
    before = Instance.objects.values().get(pk=running.pk)

    assert api.post(f"{INSTANCES}/{running.pk}/migrate", {"region": "us-test"}).json() == {}

    assert Instance.objects.values().get(pk=running.pk) == before
    assert not running.jobs.filter(finished_at=None).exists()
    event = Event.objects.latest("pk")
    assert (event.action, event.status) == ("compute_migrate_datacenter", "finished")


def test_a_region_without_room_is_refused(api, running, elsewhere):
    Host.objects.filter(region="us-other").update(memory=1)
    assert refused(api, running, region="us-other").keys() == {"region"}


def test_a_region_without_addresses_is_refused(api, running, elsewhere):
    Address.objects.filter(region="us-other", public=True).delete()
    assert refused(api, running, region="us-other").keys() == {"region"}


def test_attached_volumes_keep_it_where_it_is(api, running, elsewhere):
    Volume.objects.create(account=running.account, label="data", region_id="us-test", instance=running)
    assert "detach" in refused(api, running, region="us-other")["region"]


def test_a_vlan_does_not_go_where_there_are_none(api, running, elsewhere):
    Config.objects.filter(instance=running).update(interfaces=VLAN_INTERFACE)
    assert "contact support" in refused(api, running, region="us-other")["region"]


def test_its_vlans_come_into_being_where_it_goes(api, running, elsewhere):
    Config.objects.filter(instance=running).update(interfaces=VLAN_INTERFACE)
    Region.objects.filter(pk="us-other").update(capabilities=["Computes", "Vlans"])
    there = InstanceFactory(account=running.account, region=elsewhere, host=Host.objects.get(region=elsewhere))
    for number in range(10):
        label = f"vlan-{number}"
        VLAN.objects.create(account=running.account, region=elsewhere, label=label)
        ConfigFactory(instance=there, interfaces=[{"purpose": "vlan", "label": label, "ipam_address": ""}])
    assert "10 VLANs" in refused(api, running, region="us-other")["region"]
    there.configs.latest("pk").delete()
    assert move(api, running, region="us-other").status_code == 200
    assert VLAN.objects.filter(account=running.account, region=elsewhere, label="backend").count() == 1


def test_ipv6_pools_do_not_go_to_a_region_of_the_next_generation(api, running, elsewhere):
    pool = AddressPool.objects.get(region="us-test", kind="slaac")
    IPv6Range.objects.create(
        account=running.account, region_id="us-test", pool=pool, instance=running, range="2001:db8:5::",
        prefix=116, kind="pool",
    )  # fmt: skip
    Region.objects.filter(pk="us-other").update(capabilities=["Computes", "Vlans"])
    assert "/116" in refused(api, running, region="us-other")["region"]
    Region.objects.filter(pk="us-other").update(capabilities=["Computes"])
    assert move(api, running, region="us-other").status_code == 200


@pytest.mark.parametrize("whose", ["its own address", "another's address"])
def test_ip_failover_does_not_go_to_a_region_of_the_next_generation(whose, api, world, driver, running, elsewhere):
    other = deployed(world, driver)
    holder, sharer = (running, other) if whose == "its own address" else (other, running)
    AddressShare.objects.create(instance=sharer, address=holder.addresses.first())
    Region.objects.filter(pk="us-other").update(capabilities=["Computes", "Vlans"])
    assert "failover" in refused(api, running, region="us-other")["region"]


def test_a_busy_instance_is_refused(api, world, running, elsewhere):
    power.reboot(world.actor, running)
    assert errors(move(api, running, region="us-other")) == {None: "Compute busy."}


def test_it_needs_read_write(client_for, world, running, elsewhere):
    helper = User.objects.create_user("worldhelper", account=world.account, restricted=True)
    api = client_for(helper)
    assert move(api, running, region="us-other").status_code == 404
    grant = Grant.objects.create(user=helper, entity_type="compute", entity_id=running.pk, permissions="read_only")
    assert move(api, running, region="us-other").status_code == 403
    grant.permissions = "read_write"
    grant.save()
    assert move(api, running, region="us-other").status_code == 200


# --- with an upgrade -------------------------------------------------------------------------------------


@pytest.fixture
def newer(world) -> InstanceType:
    """A type that replaces the world's type, which is deprecated."""
    newer = InstanceTypeFactory(id="g7-test-2", memory=4096, vcpus=2, disk=30000)
    InstanceType.objects.filter(pk=world.type.pk).update(deprecated=True, successor=newer)
    return newer


def test_an_upgrade_arrives_with_the_newer_type(api, newer, running, elsewhere, driver, monkeypatch):
    shapes = []
    define = MemoryDriver.define
    monkeypatch.setattr(MemoryDriver, "define", lambda self, spec: shapes.append(spec) or define(self, spec))

    move(api, running, region="us-other", upgrade=True)
    assert api.get(f"{INSTANCES}/{running.pk}").json()["type"] == "g6-test-2"
    finish(running, driver)

    shown = api.get(f"{INSTANCES}/{running.pk}").json()
    assert (shown["type"], shown["specs"]["memory"], shown["status"]) == ("g7-test-2", 4096, "running")
    assert [spec.memory for spec in shapes] == [4096]
    assert running.reservations.get().memory == 4096


def test_an_upgrade_goes_with_a_host_migration_too(api, newer, running, other_host, driver):
    HostMigrationFactory(instance=running)
    move(api, running, upgrade=True)
    finish(running, driver)
    assert running.type == newer


def test_an_upgrade_that_fails_gives_the_old_shape_back(api, newer, running, elsewhere, driver, monkeypatch):
    move(api, running, region="us-other", upgrade=True)
    shapes = []
    define = MemoryDriver.define
    monkeypatch.setattr(MemoryDriver, "define", lambda self, spec: shapes.append(spec) or define(self, spec))
    driver.before = failing_at(len(driver.calls) + 2, times=ATTEMPTS)

    finish(running, driver)

    assert (running.type_id, running.status) == ("g6-test-2", "running")
    assert [spec.memory for spec in shapes] == [4096, 2048]
    assert running.reservations.get().memory == 2048


@pytest.mark.parametrize("body", [{"region": "us-other"}, {}])
def test_without_a_free_upgrade_nothing_happens(body, api, running, elsewhere, other_host):
    if not body:
        HostMigrationFactory(instance=running)
    assert "upgrade" in refused(api, running, upgrade=True, **body)


def test_a_newer_type_without_room_for_the_disks_is_refused(api, newer, running, elsewhere):
    DiskFactory(instance=running, size=5000)
    assert "30000" in refused(api, running, region="us-other", upgrade=True)["upgrade"]
