"""Disks and volumes of machines that are on. Only QEMU knows which ones a machine has, so each call asks QEMU."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from compute.drivers.qemu.agent import locks, records
from compute.drivers.qemu.agent.disks.drives import free_volume
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.machines.command_line import MAX_DRIVES, Drive
from compute.drivers.qemu.agent.machines.machine_dirs import NoMachine, all_machines, is_on, locked_machine
from compute.drivers.qemu.agent.machines.qmp import QMP, QMPError
from compute.drivers.qemu.agent.machines.supervisor import BOOT
from compute.drivers.qemu.agent.store import Store, checked

UNPLUG_SECONDS = 5.0
POLL = 0.01
PERIPHERAL = "/machine/peripheral/"


@dataclass(frozen=True, slots=True)
class Attached:
    """The block nodes of a running machine."""

    nodes: dict[str, str]
    """The node of each device."""
    idle: frozenset[str]
    """Nodes of drives without a device: it was unplugged, or never added."""

    def free_place(self) -> int:
        taken = {*self.nodes.values(), *self.idle}
        for lun in range(MAX_DRIVES):
            if f"lun{lun}" not in taken:
                return lun
        raise Refused(f"The machine has {MAX_DRIVES} disks and volumes already.")


def attached(qemu: QMP) -> Attached:
    """Return the block nodes of a machine, after waiting for devices that are being removed."""
    while True:
        devices = [each["qdev"] for each in qemu.call("query-block") if each.get("inserted")]
        try:
            # not the node that QEMU reports: while a disk is copied, that is a filter node in front of the disk's
            nodes = {each: f"lun{qemu.call('qom-get', path=PERIPHERAL + each, property='lun')}" for each in devices}
        except QMPError as error:
            if error.kind != "DeviceNotFound":
                raise
            time.sleep(POLL)
            continue
        named = {each["node-name"] for each in qemu.call("query-named-block-nodes", flat=True)}
        return Attached(nodes, frozenset(each for each in named - {*nodes.values()} if each.startswith("lun")))


def plug(store: Store, machine: str, volume: str, label: str) -> None:
    """Plug a volume into a machine that is on, unless the machine has the volume already."""
    with locked_machine(store, machine) as (directory, _):
        if not is_on(directory):
            free_volume(store, volume)
            return
        with QMP(directory / "qmp") as qemu:
            found = attached(qemu)
            if volume in found.nodes:
                _limit(qemu, directory, volume)  # an earlier call may have died between plugging in and limiting
                return
            _drop(qemu, found.idle)
            path = free_volume(store, volume)
            drive = Drive(volume, str(path), attached(qemu).free_place(), label)
            try:
                with qemu.opened(path) as name:
                    qemu.call("blockdev-add", **replace(drive, file=name).block_device())
            except QMPError as error:
                if locks.is_in_use(path):
                    raise Refused("Another machine has the volume.") from error
                raise Failed("The volume is in use.") from error
            qemu.call("device_add", **drive.device())
            _limit(qemu, directory, volume)


def _limit(qemu: QMP, directory: Path, device: str) -> None:
    """Apply the limits that the machine booted with, if any, to a device."""
    limits = (records.read(directory / BOOT) or {}).get("limits")
    if limits:
        qemu.call("block_set_io_throttle", id=device, **limits)


def unplug(store: Store, machine: str, volume: str) -> None:
    """Unplug a volume from a machine, if the machine has it."""
    try:
        with locked_machine(store, machine) as (directory, _):
            if not is_on(directory):
                return
            with QMP(directory / "qmp") as qemu:
                found = attached(qemu)
                if checked(volume) in found.nodes:
                    qemu.extend(UNPLUG_SECONDS)
                    qemu.call("device_del", id=volume)
                _drop(qemu, attached(qemu).idle)
    except NoMachine:
        return


def _drop(qemu: QMP, nodes: frozenset[str]) -> None:
    for node in sorted(nodes):
        qemu.call("blockdev-del", **{"node-name": node})


def volumes_of(store: Store, machine: str) -> list[str]:
    """The volumes of a machine that is on. Empty if the machine is off or missing."""
    try:
        with locked_machine(store, machine) as (directory, _):
            if not is_on(directory):
                return []
            with QMP(directory / "qmp") as qemu:
                return sorted(each for each in attached(qemu).nodes if _is_volume(store, each))
    except NoMachine:
        return []


def _is_volume(store: Store, name: str) -> bool:
    return store.shared is not None and store.volume(name).exists()


def machine_with(store: Store, volume: str) -> str | None:
    """The machine of this host that has the volume plugged in. None if another host or no host uses the volume."""
    path = store.volume(volume)
    if not path.exists() or not locks.is_in_use(path):
        return None
    return next((each for each in all_machines(store) if volume in volumes_of(store, each)), None)


def resize_running(store: Store, machine: str, disk: str, size: int) -> bool:
    """Grow a disk or a volume of a running machine to `size` bytes. The guest sees the new size at once.

    Return False if the machine is off, or does not have the disk or volume.
    """
    with locked_machine(store, machine) as (directory, _):
        if not is_on(directory):
            return False
        with QMP(directory / "qmp") as qemu:
            node = attached(qemu).nodes.get(disk)
            if node is None:
                return False
            qemu.call("block_resize", **{"node-name": node, "size": size})
            return True
