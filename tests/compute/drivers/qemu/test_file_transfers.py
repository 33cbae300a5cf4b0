"""Moves of machines between hosts, and copies of archives, with the worker stopped at any call."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from compute.drivers.base import DiskSpec, DriverError, Options, Refused
from compute.drivers.qemu.agent.disks import transfer
from compute.drivers.qemu.driver import QemuDriver
from compute.drivers.qemu.file_transfers import ArchiveFile, HostFile, copy_file, make_archives
from tests.compute.drivers.machines import (
    ARCHIVE,
    COPY,
    DISK,
    FIRST,
    MACHINE,
    OTHER,
    finish,
    image_disk,
    machine_spec,
    make_machine,
)
from tests.compute.drivers.qemu.disk_files import needs
from tests.compute.drivers.qemu_hosts import QemuHosts

MB = 1 << 20


@pytest.fixture
def hosts(tmp_path: Path) -> QemuHosts:
    """Hosts whose machines are never on."""
    needs("mke2fs", "e2fsck", "resize2fs", "debugfs")
    return QemuHosts(tmp_path)


@pytest.fixture
def source(hosts: QemuHosts) -> QemuDriver:
    return hosts.at(FIRST)


@pytest.fixture
def target(hosts: QemuHosts) -> QemuDriver:
    return hosts.at(OTHER)


class Stopped(Exception):
    """Stands in for the death of a worker."""


def stopped_at(number: int, driver: QemuDriver, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stop the worker after the nth call to the host's agent. Returns the list of calls, which grows."""
    calls: list[str] = []
    real = driver.agent.call

    def call(verb: str, **values: object) -> object:
        result = real(verb, **values)
        calls.append(verb)
        if len(calls) == number:
            raise Stopped
        return result

    monkeypatch.setattr(driver.agent, "call", call)
    return calls


def written(path: Path, size: int, *stretches: tuple[int, int]) -> Path:
    """Write a sparse file with random bytes in some places."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
        for offset, length in stretches:
            file.seek(offset)
            file.write(os.urandom(length))
    return path


def disk_of(hosts: QemuHosts, host: str, disk: str = DISK) -> Path:
    return hosts.stores[host].disk(MACHINE, disk)


def beginning(path: Path) -> bytes:
    """Return the first 8 MB of a disk, which contain all of the small system on the large disk."""
    with path.open("rb") as file:
        return file.read(8 * MB)


def test_a_move_that_is_stopped_anywhere_ends_with_the_machine_on_one_host(hosts, source, target, monkeypatch):
    """The worker stops after each call of either host's agent, with a machine of its own each time."""
    number = 0
    while True:
        number += 1
        make_machine(source)
        content = beginning(disk_of(hosts, FIRST.name))
        with monkeypatch.context() as patch:
            calls = stopped_at(number, target, patch)
            try:
                finish(lambda: target.receive(MACHINE, source))
            except Stopped:
                pass
            else:
                assert len(calls) < number
                break
        assert source.powered_off() or target.powered_off(), "it is never on neither"
        finish(lambda: target.receive(MACHINE, source))
        assert (source.powered_off(), target.powered_off()) == (frozenset(), {MACHINE})
        assert beginning(disk_of(hosts, OTHER.name)) == content
        target.undefine(MACHINE)
    assert number > 5


@pytest.mark.parametrize("calls", [2, 3, 4, 5])
def test_a_move_that_turns_back_leaves_nothing_behind(hosts, source, target, monkeypatch, calls):
    make_machine(source)
    with monkeypatch.context() as patch:
        stopped_at(calls, target, patch)
        with pytest.raises(Stopped):
            finish(lambda: target.receive(MACHINE, source))
    finish(lambda: source.receive(MACHINE, target))
    assert (source.powered_off(), target.powered_off()) == ({MACHINE}, frozenset())
    assert not hosts.stores[OTHER.name].machine(MACHINE).exists()
    assert source.disks(MACHINE) == {DISK}


def test_remains_of_an_earlier_arrival_are_not_reused(hosts, source, target, monkeypatch):
    make_machine(source)
    with monkeypatch.context() as patch:
        calls = stopped_at(10**6, target, patch)
        finish(lambda: target.receive(MACHINE, source))
        before_arrival = calls.index("arrive")
    finish(lambda: source.receive(MACHINE, target))
    with monkeypatch.context() as patch:
        stopped_at(before_arrival, target, patch)
        with pytest.raises(Stopped):
            finish(lambda: target.receive(MACHINE, source))
    finish(lambda: source.resize_disk(MACHINE, DISK, 30000))
    source.set_password(MACHINE, DISK, "High-tide.at-one-5")
    content = beginning(disk_of(hosts, FIRST.name))
    finish(lambda: target.receive(MACHINE, source))
    there = disk_of(hosts, OTHER.name)
    assert there.stat().st_size == 30000 * MB
    assert beginning(there) == content


def test_a_machine_on_neither_host_is_refused(source, target):
    with pytest.raises(Refused):
        target.receive(MACHINE, source)
    assert target.powered_off() == frozenset()


def test_a_machine_that_is_here_stays(source):
    make_machine(source)
    assert source.receive(MACHINE, source).done
    assert source.powered_off() == {MACHINE}


def test_a_disk_of_another_host_is_copied_through_the_workers(hosts, source, target):
    make_machine(source)
    target.define(machine_spec("skerry-8", mac="f2:3c:00:00:00:08"))
    copy = DiskSpec("skerry-8-disk-9", 25088, "ext4", copy_of=(MACHINE, DISK))
    finish(lambda: target.create_disk("skerry-8", copy, source))
    assert target.create_disk("skerry-8", copy, source).done
    for store in hosts.stores.values():
        for place in ("incoming", "outgoing"):
            assert not list((store.root / place).glob("*")), f"nothing is left in {place}"
    assert target.disks("skerry-8") == {"skerry-8-disk-9"}
    assert source.disks(MACHINE) == {DISK}


def test_an_archive_is_for_every_host(hosts, source, target):
    make_machine(source)
    finish(lambda: source.save_disk(MACHINE, DISK, ARCHIVE))
    target.define(machine_spec())
    for disk in (DISK, COPY):
        spec = replace(image_disk(disk), image=ARCHIVE, size=1000)
        finish(lambda spec=spec: target.create_disk(MACHINE, spec))
    assert target.disks(MACHINE) == {DISK, COPY}
    left = Path(source.options.archives) / f"{ARCHIVE}.coming"
    left.write_text("{}")
    assert source.save_disk(MACHINE, DISK, ARCHIVE).done
    assert not left.exists(), "who completed it was killed before this"
    nowhere = QemuDriver.connect(replace(FIRST, name="", driver="qemu"), source.options)
    assert nowhere.archive_size(ARCHIVE) == source.archive_size(ARCHIVE)
    nowhere.delete_archive(ARCHIVE)
    assert target.archive_size(ARCHIVE) is None


class TestCarry:
    """A file copied in many short calls."""

    SIZE = 300 * MB
    STRETCHES = ((0, 3 * MB), (100 * MB, 20 * MB), (299 * MB, MB))

    @pytest.fixture
    def original(self, tmp_path: Path) -> Path:
        return written(tmp_path / "original.raw", self.SIZE, *self.STRETCHES)

    def moments(self, step: float) -> Callable[[], float]:
        now = [0.0]

        def clock() -> float:
            now[0] += step
            return now[0]

        return clock

    def test_each_call_goes_on_where_the_one_before_ended(self, tmp_path, original):
        target = tmp_path / "copy.raw"
        percents = []
        while not (progress := copy_file(ArchiveFile(original), ArchiveFile(target), 0.5, self.moments(1.0))).done:
            percents.append(progress.percent)
            assert not target.exists(), "it appears when it is complete"
            assert progress.rate > 0
        assert percents == sorted(percents)
        assert len(percents) >= 2
        assert target.read_bytes() == original.read_bytes()

    def test_holes_stay_holes(self, tmp_path, original):
        target = tmp_path / "copy.raw"
        copy_file(ArchiveFile(original), ArchiveFile(target), 1e9)
        assert target.stat().st_blocks * 512 < 30 * MB

    def test_an_empty_file_is_carried(self, tmp_path):
        original, target = written(tmp_path / "empty.raw", 0), tmp_path / "copy.raw"
        assert copy_file(ArchiveFile(original), ArchiveFile(target), 1.0).done
        assert target.stat().st_size == 0

    def test_a_file_of_nothing_but_a_hole_is_carried(self, tmp_path):
        original, target = written(tmp_path / "hole.raw", 50 * MB), tmp_path / "copy.raw"
        assert copy_file(ArchiveFile(original), ArchiveFile(target), 1.0).done
        assert target.read_bytes() == bytes(50 * MB)

    def test_a_file_that_changed_under_way_is_begun_anew(self, tmp_path, original):
        target = tmp_path / "copy.raw"
        assert not copy_file(ArchiveFile(original), ArchiveFile(target), 0.5, self.moments(1.0)).done
        original.unlink()
        written(original, self.SIZE + MB, (0, MB))
        while not copy_file(ArchiveFile(original), ArchiveFile(target), 0.5, self.moments(1.0)).done:
            pass
        assert target.read_bytes() == original.read_bytes()

    def test_a_complete_copy_reads_no_source(self, tmp_path):
        target = written(tmp_path / "copy.raw", MB)
        assert copy_file(ArchiveFile(tmp_path / "gone.raw"), ArchiveFile(target), 1.0).done

    def test_the_record_of_a_caller_killed_at_the_end_is_deleted(self, tmp_path, original):
        target, coming = tmp_path / "copy.raw", tmp_path / "copy.coming"
        assert not copy_file(ArchiveFile(original), ArchiveFile(target), 0.5, self.moments(1.0)).done
        left = coming.read_bytes()
        while not copy_file(ArchiveFile(original), ArchiveFile(target), 1e9).done:
            pass
        coming.write_bytes(left)
        assert copy_file(ArchiveFile(original), ArchiveFile(target), 1e9).done
        assert not coming.exists()


def test_archives_and_hosts_use_the_same_chunks(source, tmp_path):
    """Archives and hosts read and write the same chunks, so either can be copied to the other."""
    original = written(tmp_path / "original.raw", 20 * MB, (MB, 2 * MB))
    incoming = HostFile(source.agent, ["incoming", "skerry-7-disk-1"])
    assert copy_file(ArchiveFile(original), incoming, 60).done
    back = tmp_path / "back.raw"
    assert copy_file(incoming, ArchiveFile(back), 60).done
    assert back.read_bytes() == original.read_bytes()
    incoming.drop()
    assert not incoming.is_complete()


def test_without_a_directory_there_are_no_archives(tmp_path):
    driver = QemuDriver.connect(FIRST, Options(timeout=10))
    with pytest.raises(DriverError, match="directory for archives"):
        driver.archive_size(ARCHIVE)


def test_chunks_survive_json(tmp_path):
    chunk = transfer.read_file(written(tmp_path / "some.raw", MB, (0, 1000)))
    assert json.loads(json.dumps(chunk)) == chunk


def test_hosts_with_other_directories_have_other_volumes(source, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    address = replace(source.address, name="us-test-h9", shared=str(elsewhere))
    other = QemuDriver.connect(address, source.options)
    assert not source.same_volumes(other)
    assert not other.same_volumes(source)
    for folder in (elsewhere, Path(source.address.shared)):
        assert not list((folder / "marks").iterdir())


def test_folders_for_archives_are_open_to_their_owner_alone(tmp_path):
    before = os.umask(0o022)
    try:
        make_archives(tmp_path / "state" / "archives")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("state", "state/archives")] == [0o700, 0o700]


def test_a_password_can_be_set_in_an_archive_of_a_file_system_alone(hosts, source):
    make_machine(source)
    folder = Path(source.options.archives)
    make_archives(folder)
    written(folder / f"{ARCHIVE}.raw", 8 * MB, (4096, 8192))
    no_partitions = "The image is not an ext file system without partitions."
    with pytest.raises(Refused, match=no_partitions):
        source.check_system(ARCHIVE)
    source.check_system("skerry-image-999")
    spec = image_disk(COPY, image=ARCHIVE, size=8)
    with pytest.raises(Refused, match=no_partitions):
        finish(lambda: source.create_disk(MACHINE, spec))
    bare = replace(spec, root_password=None, authorized_keys=())
    finish(lambda: source.create_disk(MACHINE, bare))
    assert beginning(disk_of(hosts, FIRST.name, COPY)) == beginning(folder / f"{ARCHIVE}.raw")
