"""Copies of disks in use, made by QEMU. The caller may be killed meanwhile."""

import os
import signal

import pytest

from compute.drivers.qemu.agent.disks import copies
from compute.drivers.qemu.agent.errors import Failed
from compute.drivers.qemu.agent.machines import devices, lifecycle, machine_dirs
from compute.drivers.qemu.agent.machines.qmp import QMP
from tests.compute.drivers.qemu.hosts import MACHINE, VOLUME, boot, make_volume, until_done

pytestmark = pytest.mark.guest

DISK = f"{MACHINE}-disk-1"
MB = 1 << 20


@pytest.fixture
def target(tmp_path):
    return tmp_path / "copy.part"


@pytest.fixture
def filled(store, machine):
    """A disk of 96 MB in use, with 3 MB of data at its start, in the middle and at its end."""
    path = store.disk(machine, DISK)
    with path.open("r+b") as file:
        for offset in (MB, 48 * MB, 95 * MB):
            file.seek(offset)
            file.write(os.urandom(MB))
    start(store)
    return path


def start(store):
    until_done(lambda: lifecycle.start(store, MACHINE, boot()))


def ask(store, command, **arguments):
    with QMP(store.machine(MACHINE) / "ask") as qemu:
        return qemu.call(command, **arguments)


def nodes(store):
    return {each["node-name"] for each in ask(store, "query-named-block-nodes", flat=True)}


def test_a_copy_equals_the_disk_and_leaves_nothing_in_qemu(store, filled, target):
    before = nodes(store)
    reports = []
    copies.copy_running(store, MACHINE, DISK, target, lambda done, total: reports.append((done, total)))
    assert target.read_bytes() == filled.read_bytes()
    assert target.stat().st_blocks * 512 < 16 * MB
    assert reports[-1][0] == reports[-1][1] == 96 * MB
    assert ask(store, "query-jobs") == []
    assert nodes(store) == before


def test_a_copy_into_a_file_that_holds_something_else_has_nothing_of_it(store, filled, target):
    target.write_bytes(os.urandom(8 * MB))
    copies.copy_running(store, MACHINE, DISK, target)
    assert target.read_bytes() == filled.read_bytes()


def test_a_volume_is_copied_as_well(store, running, target):
    make_volume(store)
    devices.plug(store, running, VOLUME, "data")
    copies.copy_running(store, running, VOLUME, target)
    assert target.read_bytes() == bytes(MB)


def test_a_disk_that_is_not_in_use_is_not_copied_so(store, machine, target):
    assert copies.copy(store, machine, DISK, target) is None
    with pytest.raises(Failed):
        copies.copy_running(store, machine, DISK, target)
    start(store)
    assert copies.copy(store, machine, f"{MACHINE}-disk-9", target) is None


def slowly(store, target):
    """Start a copy that does not end by itself."""
    call = QMP.call

    def slow(self, name, **arguments):
        return call(self, name, **arguments, **({"speed": 1} if name == "blockdev-mirror" else {}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QMP, "call", slow)
        return copies.copy(store, MACHINE, DISK, target)


def test_a_repeated_call_finds_its_copy_and_a_new_file_is_a_new_copy(store, filled, target):
    assert not slowly(store, target).done
    [job] = ask(store, "query-jobs")
    assert not copies.copy(store, MACHINE, DISK, target).done
    assert [each["id"] for each in ask(store, "query-jobs")] == [job["id"]]
    target.unlink()  # as at a new start
    copies.copy_running(store, MACHINE, DISK, target)
    assert target.read_bytes() == filled.read_bytes()
    assert ask(store, "query-jobs") == []


def test_a_copy_that_is_given_up_lets_go_of_its_file(store, filled, target):
    before = nodes(store)
    slowly(store, target)
    target.unlink()
    for _ in range(2):
        copies.stop_copying(store, MACHINE, target)
    assert ask(store, "query-jobs") == []
    assert nodes(store) == before


def test_a_copy_ends_with_its_machine(store, filled, target):
    slowly(store, target)
    machine_dirs.cut(store.machine(MACHINE))
    assert copies.copy(store, MACHINE, DISK, target) is None
    start(store)
    copies.copy_running(store, MACHINE, DISK, target)
    assert target.read_bytes() == filled.read_bytes()


@pytest.mark.parametrize(
    "command", ["blockdev-add", "blockdev-mirror", "block-job-cancel", "query-jobs", "job-dismiss", "blockdev-del"]
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_caller_that_is_killed_at_a_copy_leaves_it_to_the_next(store, filled, target, command, when):
    before = nodes(store)
    call = QMP.call

    def deadly(self, name, **arguments):
        if name == command and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = call(self, name, **arguments)
        if name == command:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    if os.fork() == 0:
        QMP.call = deadly
        copies.copy_running(store, MACHINE, DISK, target)
        os._exit(1)
    _, status = os.wait()
    assert os.WTERMSIG(status) == signal.SIGKILL
    copies.copy_running(store, MACHINE, DISK, target)
    assert target.read_bytes() == filled.read_bytes()
    assert ask(store, "query-jobs") == []
    assert nodes(store) == before
