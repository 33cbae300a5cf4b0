"""Commands for hosts: add when ready, check again, remove when empty."""

from collections.abc import Iterator
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from compute.drivers.base import Address, DriverError, HostImage, HostReport, Progress
from compute.models import Host, Image
from compute.worker import drivers, hosts, joining
from regions.models import Region
from tests.compute.memory_driver import MemoryDriver
from tests.factories import HostFactory, InstanceFactory

pytestmark = pytest.mark.django_db

GB = 1024
DEBIAN = HostImage("compute/debian12", "Debian 12", 1300)


class Machine(MemoryDriver):
    """A host that becomes ready in two steps, and has the properties that the test sets."""

    asked: list[Address] = []
    steps = 2
    report = HostReport(16 * GB, 8, 500 * GB, (DEBIAN,), volumes=True, notes=("Guests are emulated.",))
    error: DriverError | None = None
    volumes_of = "the same"

    @classmethod
    def connect(cls, address: Address, options: object) -> "Machine":
        made = cls()
        made.host = address.name
        cls.asked.append(address)
        return made

    def prepare(self) -> Progress:
        if self.error:
            raise self.error
        type(self).steps -= 1
        return Progress(50, wait=0) if type(self).steps > 0 else Progress()

    def inspect(self) -> HostReport:
        return self.report

    def same_volumes(self, other: object) -> bool:
        return self.volumes_of == "the same"


@pytest.fixture(autouse=True)
def machine(settings, monkeypatch) -> Iterator[type[Machine]]:
    settings.DRIVERS = {**settings.DRIVERS, "mine": f"{__name__}.Machine"}
    for name in ("asked", "steps", "report", "error", "volumes_of"):
        monkeypatch.setattr(Machine, name, getattr(Machine, name))
    monkeypatch.setattr(Machine, "asked", [])
    yield Machine
    drivers._driver.cache_clear()


@pytest.fixture
def region():
    return HostFactory(label="older", driver="mine", enabled=False, underlay="198.18.0.9").region


def add(region, label: str = "hv1", **options: str) -> str:
    output = StringIO()
    given = {"region": region.pk, "driver": "mine", "location": "/var/lib/skerry", **options}
    call_command("host_add", label, stdout=output, **given)
    return output.getvalue()


def test_an_added_host_has_the_reported_capacity(region, machine):
    output = add(region, shared="/srv/volumes")
    host = Host.objects.get(label="hv1")
    assert (host.memory, host.vcpus, host.disk, host.enabled) == (16 * GB, 8, 500 * GB, True)
    assert host.images == ["compute/debian12"]
    image = Image.objects.get(pk="compute/debian12")
    assert (image.label, image.size, image.is_public, image.account) == ("Debian 12", 1300, True, None)
    assert machine.asked[0] == Address(str(host.uuid), "mine", "/var/lib/skerry", "/srv/volumes")
    assert machine.steps == 0, "it was waited for"
    assert "16384 MB of memory" in output
    assert "Guests are emulated." in output


def test_a_check_measures_a_disabled_host_and_leaves_it_disabled(region, machine):
    add(region)
    Host.objects.filter(label="hv1").update(enabled=False)
    machine.report = replace(machine.report, memory=32 * GB)
    output = StringIO()
    call_command("host_check", "hv1", stdout=output)
    host = Host.objects.get(label="hv1")
    assert (host.memory, host.enabled) == (32 * GB, False)
    assert "hv1 is disabled and takes no new instances: 32768 MB" in output.getvalue()


@pytest.mark.parametrize("error", [DriverError("The host does not answer."), DriverError("QEMU is missing.")])
def test_a_host_that_is_not_ready_is_not_added(region, machine, error):
    machine.error = error
    with pytest.raises(CommandError, match=str(error)):
        add(region)
    assert not Host.objects.filter(label="hv1").exists()


def test_a_host_with_other_volumes_is_not_added(region, machine):
    Host.objects.update(enabled=True)
    machine.volumes_of = "others"
    with pytest.raises(CommandError, match="other volumes than older"):
        add(region)
    assert not Host.objects.filter(label="hv1").exists()


def test_a_host_without_the_volumes_of_its_region_is_not_added(region, machine):
    Host.objects.update(enabled=True)
    Region.objects.update(capabilities=["Block Storage", "Computes"])
    machine.report = replace(machine.report, volumes=False)
    with pytest.raises(CommandError, match="no volumes, but older has the volumes of the region"):
        add(region)
    assert not Host.objects.filter(label="hv1").exists()


def test_a_region_whose_only_host_has_no_volumes_offers_none(region, machine):
    Region.objects.update(capabilities=["Block Storage", "Computes"])
    machine.report = replace(machine.report, volumes=False)
    assert "offers no volumes from now on" in add(region)
    region.refresh_from_db()
    assert region.capabilities == ["Computes"]
    output = StringIO()
    call_command("host_check", "hv1", stdout=output)
    assert "from now on" not in output.getvalue(), "this is printed once"


def test_a_region_offers_no_volumes_once_its_hosts_turn_out_to_have_others(region, machine):
    add(region)
    Host.objects.update(enabled=True)
    Region.objects.update(capabilities=["Block Storage", "Computes"])
    machine.volumes_of = "others"
    with pytest.raises(CommandError, match="other volumes than older"):
        call_command("host_check", "hv1")
    region.refresh_from_db()
    assert region.capabilities == ["Computes"]


def test_every_field_that_is_wrong_is_named(region):
    with pytest.raises(CommandError) as caught:
        call_command("host_add", "older", region="nowhere", driver="none")
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == ["region", "driver", "label"]


def test_a_check_writes_the_capacity_but_not_below_reservations(region, machine):
    add(region)
    Host.objects.filter(label="hv1").update(memory_used=8 * GB)
    machine.report = HostReport(4 * GB, 4, 100 * GB, None, volumes=False)
    output = StringIO()
    call_command("host_check", "hv1", stdout=output)
    host = Host.objects.get(label="hv1")
    assert (host.memory, host.vcpus, host.disk, host.images) == (8 * GB, 4, 100 * GB, None)
    assert "any image" in output.getvalue()


def test_a_check_keeps_values_that_are_not_reported(region, machine):
    add(region)
    machine.report = HostReport()
    call_command("host_check", "hv1", stdout=StringIO())
    host = Host.objects.get(label="hv1")
    assert (host.memory, host.vcpus, host.disk) == (16 * GB, 8, 500 * GB)


def test_a_check_that_fails_changes_nothing(region, machine):
    add(region)
    machine.error = DriverError("The host does not answer.")
    with pytest.raises(CommandError):
        call_command("host_check", "hv1")
    assert Host.objects.get(label="hv1").memory == 16 * GB


def test_a_host_that_does_not_get_ready_is_given_up(region, machine, settings):
    machine.steps = 10**9
    host = Host.objects.get(label="older")
    with pytest.raises(hosts.NotReady, match="not ready after 0 s"):
        hosts.check(host, patience=0)


def test_only_an_empty_host_is_removed(region):
    add(region)
    host = Host.objects.get(label="hv1")
    instance = InstanceFactory(host=host, region=region)
    with pytest.raises(CommandError, match="has instances"):
        call_command("host_remove", "hv1")
    instance.delete()
    call_command("host_remove", "hv1", stdout=StringIO())
    assert not Host.objects.filter(label="hv1").exists()


@pytest.fixture
def by_ssh(region, monkeypatch) -> Iterator[Host]:
    """A host by ssh that does not accept the administrator's key."""

    def refuse(host: Host, identity: str) -> None:
        assert not Host.objects.get(pk=host.pk).enabled, "it gets an instance meanwhile"
        raise hosts.NotReady("hv1: Permission denied (publickey).")

    monkeypatch.setattr(joining, "leave", refuse)
    return HostFactory(label="hv1", region=region, driver="mine", location="ssh://ops@hv1:22/var/lib/skerry")


def test_a_host_that_keeps_the_platform_s_key_keeps_its_row(by_ssh, monkeypatch):
    for _ in range(2):
        with pytest.raises(
            CommandError, match=r"hv1 was not removed, because .* Permission denied .*\n.*--leave-key"
        ):
            call_command("host_remove", "hv1")
    assert Host.objects.get(label="hv1").enabled
    Host.objects.filter(label="hv1").update(enabled=False)
    with pytest.raises(CommandError, match="--identity FILE"):
        call_command("host_remove", "hv1")
    assert not Host.objects.get(label="hv1").enabled, "who disabled it meant that"
    asked = []
    monkeypatch.setattr(joining, "leave", lambda host, identity: asked.append((host, identity)))
    call_command("host_remove", "hv1", identity="key", stdout=StringIO())
    assert asked == [(by_ssh, "key")]
    assert not Host.objects.filter(label="hv1").exists()


def test_a_host_with_instances_keeps_its_key(by_ssh, monkeypatch):
    InstanceFactory(host=by_ssh, region=by_ssh.region)
    monkeypatch.setattr(joining, "leave", lambda host, identity: pytest.fail("the key was taken off"))
    with pytest.raises(CommandError, match="has instances"):
        call_command("host_remove", "hv1")
    assert Host.objects.get(label="hv1").enabled


def test_removing_a_lost_host_names_its_remaining_key(by_ssh):
    output = StringIO()
    call_command("host_remove", "hv1", leave_key=True, stdout=StringIO(), stderr=output)
    assert not Host.objects.filter(label="hv1").exists()
    assert output.getvalue().startswith("If hv1 still runs, it accepts the platform's key. Delete the line")
    assert "authorized_keys of ops there:\nssh-ed25519 " in output.getvalue()


def test_an_unknown_host_is_reported(region):
    for command in ("host_check", "host_remove"):
        with pytest.raises(CommandError, match="There is no host hv9"):
            call_command(command, "hv9")


def test_nobody_compares_keys_of_a_host_that_cannot_be_added(region, monkeypatch):
    monkeypatch.setattr(joining, "presented", lambda location: pytest.fail("the machine was asked"))
    with pytest.raises(CommandError, match=r"region does not exist.\nlabel: Another host has this label"):
        call_command("host_add", "older", region="nowhere", ssh="root@hv1", driver="qemu")
