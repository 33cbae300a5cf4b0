"""The reconciler and the watchdog on a QEMU host whose directory is changed by hand."""

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.models import Event
from compute.drivers.base import Address, Options
from compute.drivers.qemu.agent import records, settings
from compute.drivers.qemu.agent.machines import arrivals, lifecycle, machine_dirs
from compute.drivers.qemu.agent.settings import Settings
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.driver import QemuDriver
from compute.machine_names import disk_name, machine_name
from compute.models import Disk, Drift, Host, Instance, Job, Kernel
from compute.services.hosts import drift_verbs
from compute.services.networking.addresses import mac_address
from compute.worker import engine, reconciler
from tests.compute.drivers.qemu.disk_files import needs
from tests.compute.drivers.qemu.hosts import boot, make_disk, make_volume, typed, until_off
from tests.compute.run_jobs import work
from tests.compute.watching import watch
from tests.factories import HostFactory
from tests.waiting import wait_for

pytestmark = pytest.mark.django_db

Kind = Drift.Kind
STAFF = Actor(account_id=0, username="staff", is_staff=True)
STRANGER = "skerry-999999"


class Files:
    """The drivers of hosts that are directories below one folder, by their rows."""

    def __init__(self, folder: Path):
        self.folder = folder

    def at(self, address: Address) -> QemuDriver:
        return QemuDriver(address, Options(timeout=300.0, archives=str(self.folder / "archives")))

    def store(self, host: Host) -> Store:
        return Store(Path(host.location), Path(host.shared))


def add_host(folder: Path, host: Host) -> Host:
    """Give a host's row a directory."""
    (folder / "shared" / "volumes").mkdir(parents=True, exist_ok=True)
    host.driver, host.location, host.shared = "qemu", str(folder / host.label), str(folder / "shared")
    host.save(update_fields=["driver", "location", "shared"])
    settings.save(Store(Path(host.location)), Settings(accel="tcg", patience=500.0))
    return host


@pytest.fixture
def files(tmp_path, world):
    found = Files(tmp_path)
    add_host(tmp_path, world.host)
    yield found
    for directory in tmp_path.glob("*/machines/*"):
        machine_dirs.cut(directory, timeout=120)


@pytest.fixture
def store(files, world) -> Store:
    return files.store(world.host)


@pytest.fixture
def instance(world, store) -> Instance:
    """An instance that is off, with a disk of one sector."""
    instance = world.create()
    Job.objects.all().delete()
    Disk.objects.filter(instance=instance, filesystem="swap").delete()
    Disk.objects.update(status="ready")
    Instance.objects.update(status="offline")
    name = machine_name(instance.pk)
    lifecycle.define(store, name, instance.type.memory, instance.type.vcpus, mac_address(instance.pk))
    make_disk(store.disk(name, disk_name(instance.pk, instance.disks.get().pk)))
    instance.refresh_from_db()
    return instance


def compare(files: Files) -> set[tuple[str, str, str]]:
    """Compare each host twice. Returns the open drift, as kind, name and host."""
    for _ in range(2):
        Instance.objects.update(updated=Now() - timedelta(days=1))
        Host.objects.update(reconcile_at=Now())
        for host in Host.objects.order_by("pk"):
            reconciler.reconcile(host.pk, files)
    return set(Drift.objects.filter(resolved_at=None).values_list("kind", "name", "host__label"))


def test_a_host_as_its_rows_say_has_no_drift(files, instance):
    assert compare(files) == set()


def test_strangers_are_found_set_aside_and_only_then_deleted(files, store, instance, world):
    name, stray = machine_name(instance.pk), f"{machine_name(instance.pk)}-disk-999999"
    lifecycle.define(store, STRANGER, 32, 1, "f2:3c:00:00:00:08")
    make_disk(store.disk(STRANGER, f"{STRANGER}-disk-1"))
    make_disk(store.disk(name, stray))
    make_volume(store, "skerry-volume-999999")
    label = world.host.label
    assert compare(files) == {
        (Kind.UNKNOWN_MACHINE, STRANGER, label),
        (Kind.UNKNOWN_DISK, stray, label),
        (Kind.UNKNOWN_VOLUME, "skerry-volume-999999", label),
    }
    for drift in Drift.objects.filter(resolved_at=None):
        assert work(drift_verbs.set_aside(STAFF, drift), files).state == "done"
    kept = [f"aside/{STRANGER}", f"aside/{stray}.raw", "shared/aside/skerry-volume-999999.raw"]
    assert compare(files) == {(Kind.SET_ASIDE, each, label) for each in kept}
    assert (store.root / "aside" / STRANGER / "disks" / f"{STRANGER}-disk-1.raw").exists()
    for drift in Drift.objects.filter(resolved_at=None):
        assert work(drift_verbs.discard(STAFF, drift), files).state == "done"
    assert compare(files) == set()
    assert list((store.root / "aside").iterdir()) == []


def test_a_machine_without_its_description_is_defined_again_with_its_disks(files, store, instance, world):
    name = machine_name(instance.pk)
    (store.machine(name) / machine_dirs.DESCRIPTION).unlink()
    assert compare(files) == {(Kind.MISSING_MACHINE, name, world.host.label)}
    work(drift_verbs.define_again(STAFF, Drift.objects.get()), files)
    assert compare(files) == set()
    instance.refresh_from_db()
    assert instance.status == "offline"


def test_a_disk_that_was_taken_away_is_shown(files, store, instance, world, tmp_path):
    disk = instance.disks.get()
    path = store.disk(machine_name(instance.pk), disk_name(instance.pk, disk.pk))
    path.rename(tmp_path / "elsewhere")
    assert compare(files) == {(Kind.MISSING_DISK, path.stem, world.host.label)}
    assert Drift.objects.get().disk == disk
    (tmp_path / "elsewhere").rename(path)
    assert compare(files) == set()


def test_leftovers_of_a_move_are_removed(files, store, instance, world, tmp_path):
    other = add_host(tmp_path, HostFactory(region=world.region))
    name = machine_name(instance.pk)
    there = files.store(other)
    arrivals.expect(there, name, arrivals.leaving(store, name))
    half = there.incoming("skerry-image-1").with_suffix(".part")
    half.parent.mkdir(parents=True)
    half.touch()
    os.utime(half, (time.time() - 3600, time.time() - 3600))
    assert compare(files) == {
        (Kind.SHELL, name, other.label),
        (Kind.LEFTOVER, "incoming/skerry-image-1.part", other.label),
    }
    for job in Job.objects.filter(finished_at=None):
        assert work(job, files).state == "done"
    assert compare(files) == set()
    assert not half.exists()
    assert lifecycle.power(store, name) == "off"


@pytest.mark.parametrize("watched", [True, False])
def test_instances_are_booted_again_after_their_host_lost_power(files, store, instance, watched):
    """The files show a boot under another boot of the host, and no reason for the end."""
    records.write(store.machine(machine_name(instance.pk)) / "boot.json", {"host": "the boot before"})
    Instance.objects.update(status="running", watchdog_enabled=watched, updated=Now() - timedelta(minutes=1))
    assert watch(files) == 1
    job = Job.objects.get(finished_at=None)
    assert (job.kind, Event.objects.latest("pk").action) == ("boot", "host_reboot")


@pytest.mark.guest
@pytest.mark.parametrize("watched", [True, False])
def test_a_guest_that_powers_itself_off_is_noticed_and_booted_by_its_watchdog(files, store, instance, watched):
    needs("qemu-system-x86_64")
    name = machine_name(instance.pk)
    disk = disk_name(instance.pk, instance.disks.get().pk)
    kernel, _ = Kernel.objects.get_or_create(
        id="compute/direct-disk",
        defaults={**Kernel.objects.values("version", "architecture").first(), "label": "x"},
    )
    instance.configs.update(kernel=kernel)
    instance.configs.get().devices.exclude(slot="sda").delete()
    wait_for(lambda: lifecycle.start(store, name, boot(name, devices={"sda": disk})).done, 500)
    Instance.objects.update(status="running", watchdog_enabled=watched, updated=Now() - timedelta(minutes=1))
    assert watch(files) == 0
    assert compare(files) == set()

    typed(store, name, b"p")
    until_off(store, name)
    Instance.objects.update(updated=Now() - timedelta(minutes=1))
    assert watch(files) == 1
    if watched:
        wait_for(lambda: _worked(files), 500)
    instance.refresh_from_db()
    power, status = ("on", "running") if watched else ("off", "offline")
    assert (lifecycle.power(store, name), instance.status) == (power, status)
    expected = "lassie_reboot" if watched else "compute_shutdown"
    assert Event.objects.latest("pk").action == expected


def _worked(files: Files) -> bool:
    """Run one round of the job that boots it. Returns whether the job has ended."""
    job = Job.objects.get(kind="boot")
    if job.finished_at is None:
        Job.objects.filter(pk=job.pk).update(run_at=Now(), lease_until=None)
        engine.run(job.pk, files)
        job.refresh_from_db()
    return job.finished_at is not None
