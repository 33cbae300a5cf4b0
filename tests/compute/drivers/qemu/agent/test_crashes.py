"""The agent's verbs and tasks, killed before each of their effects and then repeated. The result is unchanged."""

import os
import shutil
import signal
import traceback
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pytest

from compute.drivers.qemu.agent.disks import machine_disks, transfer, volumes
from compute.drivers.qemu.agent.machines import arrivals, lifecycle
from compute.drivers.qemu.agent.networks import firewalls
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.agent.tasks import NoTask
from tests.compute.drivers.qemu.disk_files import DISK, MACHINE, ext4, is_clean, needs, program, system_folder
from tests.compute.drivers.qemu.striking import before, is_effect

pytestmark = pytest.mark.guest

VOLUME = "skerry-volume-7"
MAC = "f2:3c:00:00:00:07"
MAX_EFFECTS = 200
"""The most effects of a verb. A verb with more counts as endless."""

Hosts = tuple[Store, Store]
"""A host with a machine, and another host."""
Verb = Callable[[Hosts], object]


FIREWALL = {"version": 3, "rules": None, "closed_ports": [25]}


def machine(hosts: Hosts) -> None:
    here, _ = hosts
    lifecycle.define(here, MACHINE, 64, 1, MAC)
    ext4(here.disk(MACHINE, DISK), 16, system_folder(here.root.parent / "system"))


def coming(hosts: Hosts) -> None:
    """A machine that another host expects."""
    machine(hosts)
    here, there = hosts
    firewalls.keep(here.machine(MACHINE), FIREWALL)
    arrivals.expect(there, MACHINE, arrivals.leaving(here, MACHINE))


def carried(hosts: Hosts) -> None:
    """A machine whose disk has arrived on the other host, but not under its name yet."""
    coming(hosts)
    come(hosts)


def come(hosts: Hosts) -> None:
    here, there = hosts
    place = ["disk", MACHINE, DISK]
    at = transfer.write(there, place, transfer.read(here, place, 0, 0))
    while at < transfer.size(here, place):
        at = transfer.write(there, place, transfer.read(here, place, at))


def arrived(hosts: Hosts) -> None:
    carried(hosts)
    transfer.finish(hosts[1], ["disk", MACHINE, DISK])


def saved(hosts: Hosts) -> None:
    machine(hosts)
    save(hosts)


def save(hosts: Hosts) -> None:
    machine_disks.save(NoTask(), hosts[0], MACHINE, DISK, "skerry-image-7")


def make(hosts: Hosts) -> None:
    new = machine_disks.NewDisk(MACHINE, f"{MACHINE}-disk-9", 24, "ext4", copy_of=[MACHINE, DISK])
    machine_disks.make_disk(NoTask(), hosts[0], **asdict(new))


def make_swap(hosts: Hosts) -> None:
    machine_disks.make_disk(
        NoTask(), hosts[0], **asdict(machine_disks.NewDisk(MACHINE, f"{MACHINE}-disk-9", 1, "swap"))
    )


def carry(hosts: Hosts) -> None:
    """Copy chunks as `compute.drivers.qemu.file_transfers` does."""
    there, place = hosts[1], ["disk", MACHINE, DISK]
    if not transfer.arrived(there, place):
        come(hosts)
    transfer.finish(there, place)


def make_volume(hosts: Hosts) -> None:
    volumes.make_volume(NoTask(), hosts[0], VOLUME, 1, None, None)


VERBS: dict[str, tuple[Callable[[Hosts], None] | None, Verb]] = {
    "define": (None, lambda hosts: lifecycle.define(hosts[0], MACHINE, 64, 1, MAC)),
    "define again": (machine, lambda hosts: lifecycle.define(hosts[0], MACHINE, 32, 2, MAC)),
    "undefine": (machine, lambda hosts: lifecycle.undefine(hosts[0], MACHINE)),
    "undefine what is coming": (carried, lambda hosts: lifecycle.undefine(hosts[1], MACHINE)),
    "create_disk": (machine, make),
    "create_disk of swap": (machine, make_swap),
    "grow a disk": (machine, lambda hosts: machine_disks.resize(NoTask(), hosts[0], MACHINE, DISK, 32)),
    "shrink a disk": (machine, lambda hosts: machine_disks.resize(NoTask(), hosts[0], MACHINE, DISK, 12)),
    "delete_disk": (machine, lambda hosts: machine_disks.delete_disk(hosts[0], MACHINE, DISK)),
    "set_firewall": (machine, lambda hosts: firewalls.set_firewall(hosts[0], MACHINE, {**FIREWALL, "version": 4})),
    "save_disk": (machine, save),
    "drop": (saved, lambda hosts: transfer.drop(hosts[0], ["outgoing", "skerry-image-7"])),
    "expect": (machine, lambda hosts: arrivals.expect(hosts[1], MACHINE, arrivals.leaving(hosts[0], MACHINE))),
    "write": (coming, carry),
    "finish": (carried, carry),
    "arrive": (arrived, lambda hosts: arrivals.arrive(hosts[1], MACHINE)),
    "create_volume": (None, make_volume),
    "delete_volume": (make_volume, lambda hosts: volumes.delete_volume(hosts[0], VOLUME)),
}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_that_is_killed_anywhere_is_made_again(name, tmp_path):
    needs("mke2fs", "e2fsck", "resize2fs", "debugfs", "mkswap")
    prepare, verb = VERBS[name]
    staged = tmp_path / "staged"
    if prepare is not None:
        prepare(hosts_in(staged))
    whole = copied(staged, tmp_path / "whole")
    verb(hosts_in(whole))
    expected = files(whole)
    for nth in range(1, MAX_EFFECTS):
        struck = copied(staged, tmp_path / f"struck-{nth}")
        killed = dies(partial(verb, hosts_in(struck)), nth)
        if killed:
            verb(hosts_in(struck))
        assert files(struck) == expected, f"killed before effect {nth}"
        assert all(is_clean(path) for path in struck.rglob(f"{DISK}.raw"))
        shutil.rmtree(struck)
        if not killed:
            assert nth > 1, "it has no effect that could be struck"
            return
    raise AssertionError("there is no end of its effects")


def hosts_in(folder: Path) -> Hosts:
    (folder / "shared" / "volumes").mkdir(parents=True, exist_ok=True)
    return Store(folder / "here", folder / "shared"), Store(folder / "there", folder / "shared")


def copied(folder: Path, target: Path) -> Path:
    """Copy a folder with the times of its files, by which moves tell contents apart."""
    hosts_in(folder)
    program("cp", "-a", folder, target)
    return target


def dies(call: Callable[[], object], nth: int) -> bool:
    """Run the call in a process that is killed before its nth effect. Returns whether the process was killed."""
    pid = os.fork()
    if not pid:
        try:
            before(nth, is_effect, lambda: os.kill(os.getpid(), signal.SIGKILL))
            call()
        except BaseException:  # noqa: BLE001 - a child that goes on would be a second pytest
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def files(folder: Path) -> dict[str, int]:
    """Return the files in a folder, with their sizes."""
    found = (path for path in folder.rglob("*") if path.is_file() and "system" not in path.parts)
    return {str(path.relative_to(folder)): path.stat().st_size for path in found}
