"""Differences between a host in memory and the rows, and what a comparison leaves out."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from compute.drivers.base import Leftover
from compute.jobs.queue import enqueue
from compute.machine_names import disk_name, machine_name
from compute.models import Drift, Host, Instance
from compute.models.volumes import volume_name
from compute.services.hosts import drift_records, drift_verbs
from compute.worker import reconciler
from tests.compute.comparing import Kind, boot_data, compare, is_over, seen
from tests.compute.memory_driver import MemoryDriver
from tests.compute.worker.scenarios import deployed, volume_of

pytestmark = pytest.mark.django_db


def test_where_hosts_and_rows_agree_nothing_is_found(world, driver, instance):
    volume_of(world, driver, instance=instance)
    deployed(world, driver, running=False, label="off")
    assert compare(driver) == 0
    assert not Drift.objects.exists()


def test_a_disk_that_is_not_there_is_shown(driver, instance, machine):
    disk = instance.disks.earliest("pk")
    name = disk_name(instance.pk, disk.pk)
    content = machine["disks"].pop(name)
    drift = seen(Kind.MISSING_DISK, driver, name)
    assert drift.disk == disk

    machine["disks"][name] = content
    drift_verbs.compare_again(drift)
    assert drift_records.due() == [instance.host_id]
    is_over(drift, driver)


def test_a_volume_that_is_not_there_is_shown(world, driver):
    volume = volume_of(world, driver)
    driver.volumes.clear()
    drift = seen(Kind.MISSING_VOLUME, driver, volume_name(volume.pk))
    assert drift.volume == volume


def test_a_leftover_of_a_ready_disk_is_not_deleted(driver, instance, machine):
    disk = instance.disks.earliest("pk")
    name = disk_name(instance.pk, disk.pk)
    machine["disks"].pop(name)
    part = Leftover(f"machines/x/{name}.part", machine_name(instance.pk), name, 7200.0)
    driver.leftovers[str(instance.host.uuid)] = [part]
    assert seen(Kind.MISSING_DISK, driver, name)


def test_an_instance_with_a_live_job_is_left_out(world, driver, instance):
    driver.machines.pop(machine_name(instance.pk))
    enqueue("reboot", instance, world.actor, data=boot_data(instance))
    compare(driver)
    compare(driver)
    assert not Drift.objects.exists()


def test_an_instance_that_was_written_since_the_inventory_is_left_out(driver, instance, machine):
    class Late(MemoryDriver):
        def inventory(self):
            found = super().inventory()
            Instance.objects.update(updated=Now() + timedelta(seconds=1))
            return found

    machine["on"] = False
    late = Late()
    late.machines, late.volumes = {}, driver.volumes
    for _ in range(2):
        Host.objects.update(reconcile_at=Now())
        reconciler.reconcile(instance.host_id, late)
    assert not Drift.objects.exists()
