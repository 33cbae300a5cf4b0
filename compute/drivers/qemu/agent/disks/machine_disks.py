"""The disks of machines: raw files. Disks that the platform makes have no partitions."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import locks, records, tasks
from compute.drivers.qemu.agent.commands import TimedOut, run
from compute.drivers.qemu.agent.disks import ext, sparse, systems
from compute.drivers.qemu.agent.disks.copies import copy_running
from compute.drivers.qemu.agent.disks.ext import MB
from compute.drivers.qemu.agent.disks.trees import Tree
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.progress import DONE, Progress
from compute.drivers.qemu.agent.store import Store, checked
from compute.drivers.qemu.agent.tasks import Task

FILESYSTEMS = ("raw", "swap", "ext3", "ext4", "initrd")
SWAP_AT, SWAP = 4086, b"SWAPSPACE2"
EDIT_SECONDS = 15.0
"""Seconds for each program that works on a disk while the machine's boot, or a call, waits for it."""


@dataclass(frozen=True, slots=True)
class NewDisk:
    """A disk to make for `machine`: empty, deployed from `image`, or a copy of another disk of this host.

    `size` is in MB. `image` is an official image's id, or the name of an archive that came in (`transfer`).
    `copy_of` is a machine and one of its disks. The fields of `SYSTEM` are written into a deployed system.
    """

    machine: str
    disk: str
    size: int
    filesystem: str
    image: str | None = None
    copy_of: Sequence[str] | None = None
    hostname: str | None = None
    root_hash: str | None = field(default=None, repr=False)
    authorized_keys: Sequence[str] = field(default=(), repr=False)
    script: str | None = field(default=None, repr=False)

    @property
    def changes_system(self) -> bool:
        return any(getattr(self, name) for name in SYSTEM)


SYSTEM = ("hostname", "root_hash", "authorized_keys", "script")
"""The fields of a new disk for the system on it. They may be secret, and differ when a call is repeated."""


def create_disk(store: Store, new: NewDisk) -> Progress:
    """Make a disk. Raises `Refused` if the machine or the source is missing, or if the content does not fit."""
    if new.filesystem not in FILESYSTEMS:
        raise Refused(f"{new.filesystem!r:.20} is not a file system.")
    if not store.machine(new.machine).is_dir():
        raise Refused("The machine does not exist.")
    name = _task(new.machine, new.disk)
    if store.disk(new.machine, new.disk).exists() and not tasks.is_running(store.tasks(), name):
        return DONE
    fields = asdict(new)
    system = {name: fields.pop(name) for name in SYSTEM}
    return tasks.run(store.tasks(), name, store, make_disk, fields, system)


def make_disk(task: Task, store: Store, **fields: Any) -> None:
    """The task of `create_disk`: make a disk with these `fields` of a `NewDisk`.

    No file has the disk's name before the disk is complete.
    """
    new = NewDisk(**fields)
    target = store.disk(new.machine, new.disk)
    if target.exists():
        return
    try:
        target.parent.mkdir(exist_ok=True)
    except FileNotFoundError as error:
        raise Refused("The machine does not exist.") from error
    part = begun(target)
    if new.image is not None:
        _deploy(task, store, part, new, new.image)
    elif new.copy_of is not None:
        copy(task, store, new.copy_of[0], new.copy_of[1], part)
        _require_room(part, new.size * MB)
        os.truncate(part, new.size * MB)
    else:
        make_empty(part, new.size * MB, new.filesystem)
    complete(part, target)


def make_empty(path: Path, size: int, filesystem: str) -> None:
    """Make a file of `size` bytes with an empty file system, or nothing, in it."""
    with path.open("xb") as file:
        path.chmod(0o600)
        file.truncate(size)
    if filesystem in ("ext3", "ext4"):
        ext.make(path, filesystem)
    elif filesystem == "swap":
        run("mkswap", str(path))


def copy(task: Task, store: Store, machine: str, disk: str, target: Path) -> None:
    """Copy a disk to a new file. The copy of a disk in use is as a power cut would leave it."""
    source = store.disk(machine, disk)
    if not source.exists():
        raise (
            Failed("The disk to copy is not ready.")
            if _part(source).exists()
            else Refused("The disk to copy does not exist.")
        )
    copy_file(task, store, machine, disk, source, target)


def copy_file(task: Task, store: Store, machine: str | None, name: str, source: Path, target: Path) -> None:
    """Copy a disk or a volume at `source`, which `machine` may have in use, to a new file."""
    if not locks.is_in_use(source):
        with locks.lock_disk(source):
            ext.put_back(source)
            sparse.copy(source, target, task.report)
    elif machine is None:
        raise Failed("The volume to copy is in use by a machine on another host.")
    else:
        with target.open("xb") as file:
            target.chmod(0o600)
            file.truncate(source.stat().st_size)
        copy_running(store, machine, name, target, task.report)


def save_disk(store: Store, machine: str, disk: str, archive: str) -> Progress:
    """Copy a disk, in use or not, to `Store.outgoing`, as the content of an archive that `transfer` fetches.

    The copy's file system is shrunk, so that the archive fits onto smaller disks. `Refused` without the disk.
    """
    target = store.outgoing(archive)
    name = _save_task(archive)
    if target.exists() and not tasks.is_running(store.tasks(), name):
        return DONE
    source = store.disk(machine, disk)
    if not source.exists() and not _part(source).exists():
        raise Refused("The disk does not exist.")
    return tasks.run(store.tasks(), name, store, save, {"machine": machine, "disk": disk, "archive": archive})


def end_save(store: Store, archive: str) -> None:
    """End the task of `save_disk`, if it still runs."""
    tasks.cancel(store.tasks(), _save_task(archive))


def save(task: Task, store: Store, machine: str, disk: str, archive: str) -> None:
    """The task of `save_disk`."""
    target = store.outgoing(archive)
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = begun(target)
    copy(task, store, machine, disk, part)
    if ext.is_ext(part):
        with suppress(Refused):  # a damaged one is kept as it is
            ext.shrink(part)
    complete(part, target)


def resize_disk(store: Store, machine: str, disk: str, size: int) -> Progress:
    """Resize a disk with its file system to `size` MB.

    Raises `Refused` if the disk is missing, in use, or contains too much data for the new size. A swap disk can
    always be made smaller. On a disk without a known file system, only a part that was never written is cut.
    """
    path = existing(store, machine, disk)
    name = _task(machine, disk)
    if not tasks.is_running(store.tasks(), name) and _is_resized(path, size * MB):
        return DONE
    return tasks.run(store.tasks(), name, store, resize, {"machine": machine, "disk": disk, "size": size})


def resize(task: Task, store: Store, machine: str, disk: str, size: int) -> None:
    """The task of `resize_disk`."""
    path, wanted = existing(store, machine, disk), size * MB
    with locks.lock_disk(path):
        ext.put_back(path)
        if ext.is_ext(path):
            ext.resize(path, wanted)
        elif is_swap(path):
            os.truncate(path, wanted)
            run("mkswap", *_identity(path), str(path))
        elif wanted < path.stat().st_size and sparse.ends(path) > wanted:
            raise Refused("The disk cannot be made smaller, because the platform does not support its file system.")
        else:
            os.truncate(path, wanted)


def set_password(store: Store, machine: str, disk: str, root_hash: str) -> None:
    """Set the hash of root's password in the system on a disk.

    `Refused` if the disk is missing, in use, or without a system.
    """
    with edited(existing(store, machine, disk)) as tree:
        systems.set_root_hash(tree, root_hash)


def prepare(
    store: Store,
    machine: str,
    disk: str,
    networks: Sequence[dict[str, Any]] | None = None,
    hostname: str | None = None,
) -> str | None:
    """Make a disk ready for a boot: settle it, and write its network and its host name, if given.

    Each of the `networks` has the fields of `systems.Network`. If the system cannot be changed, return the reason
    for the machine's notes: the owner may have changed the system, and the machine boots nevertheless. Raises
    `Failed` if the disk cannot be settled.
    """
    path = existing(store, machine, disk)
    ext.settle(path)
    if networks is None and hostname is None:
        return None
    try:
        with edited(path) as tree:
            if networks is not None:
                systems.set_networks(tree, [systems.Network.read(each) for each in networks])
            if hostname is not None:
                systems.set_hostname(tree, hostname)
    except (Refused, TimedOut) as error:
        return str(error)
    return None


def delete_disk(store: Store, machine: str, disk: str) -> None:
    """Delete a disk, complete or not, and cancel its task. `Failed` while the disk is in use."""
    path = store.disk(machine, disk)
    tasks.cancel(store.tasks(), _task(machine, disk))
    delete_file(path)


def disks(store: Store, machine: str) -> list[str]:
    """The names of a machine's disks, including incomplete ones."""
    folder = store.machine(machine) / "disks"
    if not folder.is_dir():
        return []
    return sorted({path.stem for path in folder.iterdir() if path.suffix in (".raw", ".part")})


def end_tasks(store: Store, machine: str) -> None:
    """Cancel the tasks of a machine's disks, before the machine's directory is deleted."""
    if store.tasks().is_dir():
        for each in store.tasks().glob(f"disk.{checked(machine)}.*"):
            tasks.cancel(store.tasks(), each.name)


def disk_size(store: Store, machine: str, disk: str) -> int | None:
    """A disk's size in MB; None if there is no complete disk."""
    path = store.disk(machine, disk)
    return path.stat().st_size // MB if path.exists() else None


# --- files --------------------------------------------------------------------------------------------------------


def existing(store: Store, machine: str, disk: str) -> Path:
    """The file of a complete disk. Raises `Failed` if the disk is incomplete, and `Refused` if it is missing."""
    path = store.disk(machine, disk)
    if path.exists():
        return path
    if _part(path).exists():
        raise Failed("The disk is not ready.")
    raise Refused("The disk does not exist.")


@contextmanager
def edited(path: Path) -> Iterator[Tree]:
    """Yield the tree of a disk that is not in use, and write its changes after the block.

    `Refused` if there is no known file system on the disk.
    """
    with locks.lock_disk(path):
        ext.put_back(path)
        if not ext.is_ext(path):
            raise Refused("The disk has no system that the platform supports.")
        ext.check(path, whole=False, timeout=EDIT_SECONDS)
        tree = Tree(path, EDIT_SECONDS)
        yield tree
        if tree.is_changed:
            with ext.revocable(path) as undo:
                tree.commit(undo)


def begun(target: Path) -> Path:
    """Return the temporary name for making a file, and delete what an earlier try left."""
    part = _part(target)
    for each in (part, ext.undo_file(target)):
        each.unlink(missing_ok=True)
    records.remove(ext.mark(target))
    return part


def complete(part: Path, target: Path) -> None:
    """Rename a finished file to its final name, and sync both the file and the rename."""
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.rename(target)
    sparse.sync_folder(target.parent)


def delete_file(path: Path) -> None:
    """Delete the file of a disk or volume with its helper files. `Failed` while the file is in use."""
    try:
        with locks.lock_disk(path):
            _unlink(path)
    except FileNotFoundError:
        _unlink(path)
    except Refused as error:
        raise Failed(str(error)) from error


def _unlink(path: Path) -> None:
    for each in (coming(path), ext.mark(path)):
        records.remove(each)
    for each in (_part(path), ext.undo_file(path), path):
        each.unlink(missing_ok=True)


def coming(path: Path) -> Path:
    """The record of how much of a file has arrived from elsewhere."""
    return path.with_suffix(".coming")


def _part(path: Path) -> Path:
    return path.with_suffix(".part")


def is_swap(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(SWAP_AT)
        return file.read(10) == SWAP


def _identity(path: Path) -> tuple[str, ...]:
    """The options of mkswap that keep the UUID and the label, by which a system may find its swap."""
    with path.open("rb") as file:
        file.seek(1036)
        uuid, label = file.read(16).hex(), file.read(16).rstrip(b"\0").decode("ascii", "replace")
    grouped = re.sub(r"(.{8})(.{4})(.{4})(.{4})(.{12})", r"\1-\2-\3-\4-\5", uuid)
    return ("-U", grouped, *(("-L", label) if label.isprintable() and label else ()))


def _is_resized(path: Path, size: int) -> bool:
    if ext.mark(path).exists() or path.stat().st_size != size:
        return False
    if ext.is_ext(path):
        return ext.has_filled(path)
    if is_swap(path):
        with path.open("rb") as file:
            file.seek(1028)
            return int.from_bytes(file.read(4), "little") == size // 4096 - 1
    return True


def _require_room(path: Path, size: int) -> None:
    present = path.stat().st_size
    if size < present:
        raise Refused(f"The disk needs {-(-present // MB)} MB for the content of its source.")


def _deploy(task: Task, store: Store, part: Path, new: NewDisk, image: str) -> None:
    official, size = "/" in image, new.size * MB
    source = store.image(image) if official else store.incoming(image)
    if not source.exists():
        raise Refused("This host has no such image." if official else "The archive does not exist.")
    # before the copy, which may take minutes
    if new.changes_system and not ext.is_ext(source):
        raise Refused(ext.NOT_EXT.format(what="image"))
    sparse.copy(source, part, task.report)
    _require_room(part, size)
    if not ext.is_ext(part):
        os.truncate(part, size)
        return
    if not official and size == part.stat().st_size and not new.changes_system:
        return
    ext.check(part)
    old = ext.uuid(part)
    if official:
        ext.new_identity(part)
    if size > part.stat().st_size:
        ext.grow_new(part, size)
    _write_system(part, old, new)


def _write_system(part: Path, old: str, new: NewDisk) -> None:
    """Write the fields of `SYSTEM` into the system on a new disk. The UUID of its file system was `old`."""
    tree = Tree(part)
    if new.root_hash is not None:
        systems.set_root_hash(tree, new.root_hash)
    if new.authorized_keys:
        systems.set_keys(tree, new.authorized_keys)
    if new.hostname is not None:
        systems.set_hostname(tree, new.hostname)
        systems.allow_slow_devices(tree)
    if new.script is not None:
        systems.set_script(tree, new.script)
    if ext.uuid(part) != old:
        systems.set_file_system(tree, old, ext.uuid(part))
    if tree.is_changed:
        tree.commit()
        run("e2fsck", "-fn", str(part))


def _task(machine: str, disk: str) -> str:
    return f"disk.{checked(machine)}.{checked(disk)}"


def _save_task(archive: str) -> str:
    return f"save.{checked(archive)}"
