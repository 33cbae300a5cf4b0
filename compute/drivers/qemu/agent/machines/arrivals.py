"""Moves of machines between hosts.

The target host stores the machine's description in a separate file until all disks have arrived. Then one rename
makes the machine belong to the target host. Until then it belongs to the source host.
"""

import shutil
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import records
from compute.drivers.qemu.agent.disks import machine_disks
from compute.drivers.qemu.agent.errors import Refused
from compute.drivers.qemu.agent.machines.machine_dirs import (
    DESCRIPTION,
    POWER,
    all_machines,
    exists,
    is_on,
    locked_machine,
)
from compute.drivers.qemu.agent.networks import firewalls
from compute.drivers.qemu.agent.store import Store

EXPECTED = "expected.json"


def leaving(store: Store, machine: str) -> dict[str, Any]:
    """Return the data that another host needs to take over a machine. Raises `Refused` while the machine is on.

    The data are the description, the packet filter, and the disks. Each disk has a version, which changes with the
    disk's content.
    """
    with locked_machine(store, machine) as (directory, _):
        if is_on(directory):
            raise Refused("The machine is on.")
        return {
            "description": records.read(directory / DESCRIPTION),
            "firewall": firewalls.firewall(store, machine),
            "disks": {
                disk: _version(store.disk(machine, disk)) for disk in sorted(machine_disks.disks(store, machine))
            },
        }


def is_whole(store: Store, machine: str) -> bool:
    """Tell whether the machine is defined on this host, not only expected."""
    return exists(store, machine)


def expect(store: Store, machine: str, left: dict[str, Any]) -> None:
    """Make a directory for a machine that will arrive, and delete disks that arrived of an earlier state of it."""
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
    """Define a machine whose disks have all arrived. Raises `Refused` if the machine is not expected."""
    with locked_machine(store, machine, defined=False) as (directory, _):
        if exists(store, machine):
            # an earlier call may have been killed before this line
            records.remove(directory / EXPECTED)
            return
        left = records.read(directory / EXPECTED)
        if left is None:
            raise Refused("The machine is not being moved to this host.")
        if left["firewall"] is not None:
            firewalls.keep(directory, left["firewall"])
        records.write(directory / DESCRIPTION, left["description"])
        records.remove(directory / EXPECTED)


def _version(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_ino, found.st_size, found.st_mtime_ns]
