"""Transfer of disk contents in chunks that may be repeated, from where it stopped, or from the start."""

import json
import os

import pytest

from compute.drivers.qemu.agent.disks import ext, machine_disks, transfer
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.store import Store
from tests.compute.drivers.qemu.disk_files import DISK, MACHINE, MB, allocated, make_store, program

HERE = ["disk", MACHINE, DISK]
THERE = ["incoming", "skerry-image-7"]


@pytest.fixture
def store(tmp_path) -> Store:
    """A host with a disk that has a few pieces of data far apart."""
    store = make_store(tmp_path)
    with store.disk(MACHINE, DISK).open("wb") as file:
        file.truncate(300 * MB)
        for at in (0, MB, 100 * MB + 123, 299 * MB):
            os.pwrite(file.fileno(), os.urandom(MB), at)
        os.pwrite(file.fileno(), bytes(MB), 50 * MB)
    return store


@pytest.fixture
def other(tmp_path) -> Store:
    return make_store(tmp_path / "other")


def carry(store: Store, other: Store, place=THERE, most: int = 300_000, chunks: int = 1000) -> int:
    """Transfer chunks from where the other side wants them. Returns their number."""
    start = 0
    for count in range(chunks):
        chunk = json.loads(json.dumps(transfer.read(store, HERE, start, most)))
        start = transfer.write(other, place, chunk)
        if start >= chunk["size"]:
            return count + 1
    return chunks


def test_a_disk_arrives_byte_for_byte_and_as_sparse(store, other):
    assert carry(store, other) > 10
    assert not transfer.arrived(other, THERE)
    transfer.finish(other, THERE)
    transfer.finish(other, THERE)
    program("cmp", store.disk(MACHINE, DISK), other.incoming("skerry-image-7"))
    assert allocated(other.incoming("skerry-image-7")) < 8 * MB
    assert transfer.arrived(other, THERE)
    assert transfer.size(other, THERE) == 300 * MB
    assert [each.name for each in (other.root / "incoming").iterdir()] == ["skerry-image-7.raw"]


def test_a_disk_arrives_at_another_machines_host(store, other):
    carry(store, other, HERE)
    assert machine_disks.disks(other, MACHINE) == [DISK], "half-made"
    transfer.finish(other, HERE)
    program("cmp", store.disk(MACHINE, DISK), other.disk(MACHINE, DISK))
    assert machine_disks.disks(other, MACHINE) == [DISK]
    machine_disks.delete_disk(other, MACHINE, DISK)
    assert list((other.machine(MACHINE) / "disks").iterdir()) == []


def test_a_broken_copy_goes_on_where_it_stopped(store, other):
    carry(store, other, chunks=4)
    assert transfer.write(other, THERE, transfer.read(store, HERE)) > 0, "it says where to go on"
    carry(store, other)
    transfer.finish(other, THERE)
    program("cmp", store.disk(MACHINE, DISK), other.incoming("skerry-image-7"))


def test_chunks_may_come_twice_and_out_of_turn(store, other):
    first = transfer.read(store, HERE, 0, 300_000)
    second = transfer.read(store, HERE, first["next"], 300_000)
    assert transfer.write(other, THERE, second) == 0
    assert transfer.write(other, THERE, first) == first["next"]
    assert transfer.write(other, THERE, first) == first["next"]
    assert transfer.write(other, THERE, second) == second["next"]


def test_a_chunk_without_a_record_is_written_again(store, other, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(path, record):
        if record["next"]:
            raise Killed
        write(path, record)

    write = transfer.records.write
    with monkeypatch.context() as patched:
        patched.setattr(transfer.records, "write", killed)
        with pytest.raises(Killed):
            transfer.write(other, THERE, transfer.read(store, HERE, 0, 300_000))
    carry(store, other)
    transfer.finish(other, THERE)
    program("cmp", store.disk(MACHINE, DISK), other.incoming("skerry-image-7"))


def test_another_content_begins_anew(store, other):
    carry(store, other, chunks=4)
    with store.disk(MACHINE, DISK).open("r+b") as file:
        file.write(b"changed")
    chunk = transfer.read(store, HERE, 900_000, 300_000)
    assert transfer.write(other, THERE, chunk) == 0
    carry(store, other)
    transfer.finish(other, THERE)
    program("cmp", store.disk(MACHINE, DISK), other.incoming("skerry-image-7"))


def test_nothing_is_finished_before_all_is_there(store, other):
    with pytest.raises(Failed):
        transfer.finish(other, THERE)
    carry(store, other, chunks=2)
    with pytest.raises(Failed):
        transfer.finish(other, THERE)


def test_an_empty_disk_arrives_in_one_chunk(store, other):
    with store.disk(MACHINE, DISK).open("wb") as file:
        file.truncate(300 * MB)
    assert carry(store, other) == 1
    transfer.finish(other, THERE)
    assert transfer.size(other, THERE) == 300 * MB
    assert allocated(other.incoming("skerry-image-7")) == 0


def test_a_complete_transfer_is_not_written_again(store, other):
    carry(store, other)
    transfer.finish(other, THERE)
    before = other.incoming("skerry-image-7").stat().st_mtime_ns
    assert carry(store, other) == 1
    assert other.incoming("skerry-image-7").stat().st_mtime_ns == before


def test_half_changed_disks_are_put_back_before_they_leave(store, other):
    ext._mark(store.disk(MACHINE, DISK), back=False, size=6000 * MB)
    assert transfer.read(store, HERE)["size"] == 6000 * MB


@pytest.mark.parametrize(
    "place",
    [["disk", "..", "x"], ["incoming", "../x"], ["etc", "passwd"], [], ["disk", MACHINE], ["disk", MACHINE, "x"]],
)
def test_there_is_nothing_to_read_elsewhere(store, place):
    with pytest.raises(Refused):
        transfer.read(store, place)


@pytest.mark.parametrize("piece", [[-1, "YQ=="], [300 * MB, "YQ=="], [0, "???"]])
def test_pieces_stay_in_their_file(store, other, piece):
    chunk = {**transfer.read(store, HERE), "pieces": [piece]}
    with pytest.raises(Refused):
        transfer.write(other, THERE, chunk)
    transfer.drop(other, THERE)
    assert list((other.root / "incoming").iterdir()) == []


def test_a_disk_for_no_machine_is_refused(store, other):
    with pytest.raises(Refused):
        transfer.write(other, ["disk", "skerry-9", DISK], transfer.read(store, HERE))
