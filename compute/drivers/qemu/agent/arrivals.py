"""Machines on their way from one host to another.

The host that a machine goes to keeps its description aside until all of its disks have come in: one rename makes it
a machine of that host. Until then it is one of the host that it comes from.
"""

import shutil
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import disks, firewalls, records
from compute.drivers.qemu.agent.errors import Refused
from compute.drivers.qemu.agent.machine_dirs import DESCRIPTION, POWER, all_machines, exists, is_on, locked_machine
from compute.drivers.qemu.agent.store import Store

EXPECTED = "expected.json"


def leaving(store: Store, machine: str) -> dict[str, Any]:
    """What another host has to know of a machine that it is to take over: its description, the packet filter, and
    its disks, each with what tells its present content from earlier ones. Raises `Refused` while it is on."""
    with locked_machine(store, machine) as (directory, _):
        if is_on(directory):
            raise Refused("The machine is on.")
        return {
            "description": records.read(directory / DESCRIPTION),
            "firewall": firewalls.firewall(store, machine),
            "disks": {disk: _version(store.disk(machine, disk)) for disk in sorted(disks.disks(store, machine))},
        }


def is_whole(store: Store, machine: str) -> bool:
    """Whether the machine is one of this host: not where it is only expected."""
    return exists(store, machine)


def expect(store: Store, machine: str, left: dict[str, Any]) -> None:
    """Make a place for a machine that is to come. What came in of an earlier state of it is removed."""
    if machine in all_machines(store):
        return
    with locked_machine(store, machine, defined=False, make=True) as (directory, _):
        if records.read(directory / EXPECTED) == left:
            return
        shutil.rmtree(directory / "disks", ignore_errors=True)
        (directory / "disks").mkdir(mode=0o700)
        (directory / POWER).touch(mode=0o600)
        records.write(directory / EXPECTED, left)


def arrive(store: Store, machine: str) -> None:
    """Make a machine that came in whole one of this host. Raises `Refused` where none is expected."""
    with locked_machine(store, machine, defined=False) as (directory, _):
        if exists(store, machine):
            # whoever made it one may have been killed before this
            records.remove(directory / EXPECTED)
            return
        left = records.read(directory / EXPECTED)
        if left is None:
            raise Refused("No such machine is on its way to this host.")
        if left["firewall"] is not None:
            firewalls.keep(directory, left["firewall"])
        records.write(directory / DESCRIPTION, left["description"])
        records.remove(directory / EXPECTED)


def _version(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_ino, found.st_size, found.st_mtime_ns]
