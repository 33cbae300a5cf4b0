"""The region's volumes: raw files in the directory that all its hosts share, empty until a guest formats them.

A call may reach any host of the region, so the tasks of volumes are in the shared directory as well.
"""

import os
import re
import secrets
from pathlib import Path

from compute.drivers.qemu.agent import locks, tasks
from compute.drivers.qemu.agent.disks import machine_disks
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.progress import DONE, Progress
from compute.drivers.qemu.agent.store import Store, checked
from compute.drivers.qemu.agent.tasks import Task

GB = 1 << 30


def create_volume(
    store: Store, volume: str, size: int, copy_of: str | None = None, machine: str | None = None
) -> Progress:
    """Make a volume of `size` GB: empty, or a copy of another volume, which `machine` of this host may have in use.

    Raises `Refused` if the original is missing, and on a host without volumes.
    """
    target = store.volume(volume)
    name = _task(volume)
    if target.exists() and not tasks.is_running(store.shared_tasks(), name):
        return DONE
    if copy_of is not None and not store.volume(copy_of).exists():
        raise Refused("The volume to copy does not exist.")
    arguments = {"volume": volume, "size": size, "copy_of": copy_of, "machine": machine}
    return tasks.run(store.shared_tasks(), name, store, make_volume, arguments)


def make_volume(task: Task, store: Store, volume: str, size: int, copy_of: str | None, machine: str | None) -> None:
    """The task of `create_volume`."""
    target = store.volume(volume)
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = machine_disks.begun(target)
    if copy_of is None:
        machine_disks.make_empty(part, size * GB, "raw")
    else:
        machine_disks.copy_file(task, store, machine, copy_of, store.volume(copy_of), part)
        if part.stat().st_size > size * GB:
            raise Refused("The volume to copy is larger.")
        os.truncate(part, size * GB)
    machine_disks.complete(part, target)


def grow_volume(store: Store, volume: str, size: int) -> bool:
    """Grow a volume to `size` GB. Return False if a machine has it in use: then QEMU has to grow the volume.

    Raises `Refused` if the volume is missing or larger.
    """
    path = _existing(store, volume)
    present = path.stat().st_size
    if present > size * GB:
        raise Refused("A volume cannot be made smaller.")
    if present == size * GB:
        return True
    if locks.is_in_use(path):
        return False
    with locks.lock_disk(path):
        os.truncate(path, size * GB)
    return True


def volume_size(store: Store, volume: str) -> int | None:
    """A volume's size in GB, complete or not; None if there is no such volume."""
    path = store.volume(volume)
    for each in (path, path.with_suffix(".part")):
        if each.exists():
            return each.stat().st_size // GB
    return None


def delete_volume(store: Store, volume: str) -> None:
    """Delete a volume, complete or not. `Failed` while a machine has it in use."""
    path = store.volume(volume)
    tasks.cancel(store.shared_tasks(), _task(volume))
    machine_disks.delete_file(path)


def volumes(store: Store) -> list[str]:
    """The names of all volumes, including incomplete ones."""
    if store.shared is None or not (store.shared / "volumes").is_dir():
        return []
    return sorted({each.stem for each in (store.shared / "volumes").iterdir() if each.suffix in (".raw", ".part")})


def _existing(store: Store, volume: str) -> Path:
    path = store.volume(volume)
    if path.exists():
        return path
    if path.with_suffix(".part").exists():
        raise Failed("The volume is not ready.")
    raise Refused("The volume does not exist.")


def _task(volume: str) -> str:
    return f"volume.{checked(volume)}"


def leave_mark(store: Store) -> str:
    """Make a mark in the shared directory, which another host can look for, and return its name."""
    if store.shared is None:
        raise Refused("This host has no volumes.")
    mark = secrets.token_hex(16)
    (store.shared / "marks").mkdir(parents=True, exist_ok=True)
    (store.shared / "marks" / mark).touch()
    return mark


def take_mark(store: Store, mark: str) -> bool:
    """Delete a mark of another host, and tell whether it existed. Then both hosts share the same directory."""
    if store.shared is None or not re.fullmatch(r"[0-9a-f]{32}", mark):
        return False
    path = store.shared / "marks" / mark
    found = path.exists()
    path.unlink(missing_ok=True)
    return found
