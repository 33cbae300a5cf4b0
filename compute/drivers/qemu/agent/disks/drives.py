"""The disks and volumes for a boot, and volumes to plug in."""

from pathlib import Path

from compute.drivers.boot import BootSpec
from compute.drivers.qemu.agent import locks
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.machines.command_line import SLOTS, Drive
from compute.drivers.qemu.agent.store import Store


def to_boot(store: Store, machine: str, boot: BootSpec) -> list[Drive]:
    """The drives of a boot by slot. Raises `Refused` or `Failed` if one is missing, incomplete or in use."""
    drives = []
    for slot, name in sorted(boot.devices.items()):
        if slot not in SLOTS:
            raise Refused(f"{slot!r:.40} is not a slot.")
        label = boot.volumes.get(name)
        if name in boot.volumes:
            drives.append(Drive(name, str(free_volume(store, name)), SLOTS.index(slot), label))
        else:
            _complete(store.disk(machine, name), "A disk to boot from is missing.")
            drives.append(Drive(name, f"disks/{name}.raw", SLOTS.index(slot)))
    if not drives and not boot.rescue:
        raise Refused("A disk to boot from is missing.")
    return drives


def free_volume(store: Store, volume: str) -> Path:
    """The file of a volume that no machine has.

    Raises `Refused` if the volume is missing or in use, and `Failed` if it is incomplete.
    """
    path = store.volume(volume)
    _complete(path, "The volume does not exist.")
    if locks.is_in_use(path):
        raise Refused("Another machine has the volume.")
    return path.absolute()


def _complete(path: Path, missing: str) -> None:
    if path.exists():
        return
    if path.with_suffix(".part").exists():
        raise Failed("A disk of the machine is not ready.")
    raise Refused(missing)
