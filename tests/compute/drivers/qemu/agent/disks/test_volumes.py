"""Volumes: raw files that all hosts of a region share."""

import pytest

from compute.drivers.qemu.agent import tasks
from compute.drivers.qemu.agent.disks import machine_disks, volumes
from compute.drivers.qemu.agent.disks.volumes import GB
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.store import Store
from tests.compute.drivers.qemu.disk_files import MACHINE, allocated, make_store, program

VOLUME = "skerry-volume-7"
COPY = "skerry-volume-8"


@pytest.fixture
def store(tmp_path) -> Store:
    return make_store(tmp_path)


def make(store: Store, name: str = VOLUME, size: int = 20, **more) -> None:
    while not volumes.create_volume(store, name, size, **more).done:
        pass


def test_a_volume_is_empty_and_costs_nothing(store):
    make(store)
    make(store)
    assert volumes.volume_size(store, VOLUME) == 20
    assert allocated(store.volume(VOLUME)) == 0
    assert volumes.volumes(store) == [VOLUME]


def test_a_copy_is_the_same_byte_for_byte(store):
    make(store, size=1)
    with store.volume(VOLUME).open("r+b") as file:
        file.seek(GB // 2)
        file.write(b"precious")
    make(store, COPY, 1, copy_of=VOLUME)
    program("cmp", store.volume(VOLUME), store.volume(COPY))
    assert allocated(store.volume(COPY)) < 1 << 20
    with pytest.raises(Refused):
        make(store, "skerry-volume-9", copy_of="skerry-volume-10")


def test_a_volume_only_grows(store):
    make(store)
    assert volumes.grow_volume(store, VOLUME, 30)
    assert volumes.grow_volume(store, VOLUME, 30)
    assert volumes.volume_size(store, VOLUME) == 30
    with pytest.raises(Refused):
        volumes.grow_volume(store, VOLUME, 20)
    with pytest.raises(Refused):
        volumes.grow_volume(store, COPY, 20)


def test_a_half_made_volume_has_its_size_and_is_not_used(store):
    make(store)
    store.volume(VOLUME).rename(store.volume(VOLUME).with_suffix(".part"))
    assert volumes.volume_size(store, VOLUME) == 20
    assert volumes.volumes(store) == [VOLUME]
    with pytest.raises(Failed) as caught:
        volumes.grow_volume(store, VOLUME, 30)
    assert not isinstance(caught.value, Refused)
    make(store)
    assert not store.volume(VOLUME).with_suffix(".part").exists()


def test_deleting_may_be_repeated(store):
    make(store)
    store.volume(VOLUME).with_suffix(".part").touch()
    for _ in range(2):
        volumes.delete_volume(store, VOLUME)
    assert volumes.volume_size(store, VOLUME) is None
    assert volumes.volumes(store) == []


def test_a_host_that_shares_nothing_has_no_volumes(store):
    alone = Store(store.root)
    assert volumes.volumes(alone) == []
    for call in (lambda: make(alone), lambda: volumes.volume_size(alone, VOLUME)):
        with pytest.raises(Refused, match="no volumes"):
            call()


def test_a_volume_in_use_is_copied_by_its_machine_and_grown_by_its_qemu(store, monkeypatch):
    make(store)
    asked = []

    def copy_running(store, machine, disk, target, report):
        asked.append((machine, disk, target.stat().st_size))

    monkeypatch.setattr(machine_disks, "copy_running", copy_running)
    monkeypatch.setattr(machine_disks.locks, "is_in_use", lambda path: True)
    volumes.make_volume(tasks.NoTask(), store, COPY, 20, VOLUME, MACHINE)
    assert asked == [(MACHINE, VOLUME, 20 * GB)]
    assert not volumes.grow_volume(store, VOLUME, 30)
    with pytest.raises(Failed, match="another host"):
        volumes.make_volume(tasks.NoTask(), store, "skerry-volume-9", 20, VOLUME, None)
