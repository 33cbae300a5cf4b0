"""The inventory of a host, read from its files, and setting aside what does not belong there.

Files that may contain a customer's data are not deleted here. They are renamed into the folder ``aside`` on the
same file system, until `discard` deletes them by name.
"""

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import locks, records, tasks
from compute.drivers.qemu.agent.disks import ext, machine_disks
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.machines.arrivals import EXPECTED
from compute.drivers.qemu.agent.machines.machine_dirs import DESCRIPTION, NoMachine, boot_id, is_on, locked_machine
from compute.drivers.qemu.agent.machines.supervisor import BOOT, ENDED, STOP
from compute.drivers.qemu.agent.networks import firewalls
from compute.drivers.qemu.agent.store import NAME, Store, checked

ASIDE = "aside"
FOLDERS = ("incoming", "outgoing")
FILE = re.compile(r"[a-z0-9][a-z0-9-]{0,62}\.(raw|part|coming)")


def inventory(store: Store) -> dict[str, Any]:
    """The machines, complete volumes (None on a host without volumes), leftovers and set-aside files."""
    found = _folders(store.root / "machines")
    plugged = _volumes_in_use(store)
    return {
        "machines": [_machine(each, plugged.get(each.name, [])) for each in found],
        "volumes": None if store.shared is None else _complete(store.shared / "volumes"),
        "leftovers": [*_half_made_disks(store, found), *_on_their_way(store), *_half_made_volumes(store)],
        "aside": sorted(f"{ASIDE}/{each.name}" for each in _entries(store.root / ASIDE))
        + sorted(f"shared/{ASIDE}/{each.name}" for each in _entries(_shared_aside(store))),
    }


def _machine(directory: Path, plugged: list[str]) -> dict[str, Any]:
    described = records.read(directory / DESCRIPTION)
    on = is_on(directory)
    known = described or {}
    return {
        "name": directory.name,
        "power": "on" if on else "off" if described else "absent",
        "disks": _complete(directory / "disks"),
        "plugged": plugged,
        "memory": known.get("memory"),
        "vcpus": known.get("vcpus"),
        "ended": None if on else why_off(directory),
        "arriving": described is None and (directory / EXPECTED).exists(),
    }


def why_off(directory: Path) -> str | None:
    """Return why a machine went off: ``asked``, ``guest``, ``killed``, or ``host``.

    ``host`` means that the host restarted after the machine booted. None if the machine was never on, or if QEMU
    did not start at the last boot.
    """
    boot = records.read(directory / BOOT)
    if boot is None:
        return None
    why = (records.read(directory / ENDED) or {}).get("why")
    if why == "guest-shutdown":
        return "guest"
    if why == "failed-to-start":
        return None
    if (directory / STOP).exists():
        return "asked"
    # a machine that ended with its host was shut down by the host, or killed
    return "killed" if boot.get("host", "") in ("", boot_id()) else "host"


def _folders(path: Path) -> list[Path]:
    return [each for each in _entries(path) if each.is_dir() and NAME.fullmatch(each.name)]


def _entries(path: Path | None) -> list[Path]:
    if path is None or not path.is_dir():
        return []
    return sorted(path.iterdir())


def _complete(folder: Path) -> list[str]:
    return [each.stem for each in _entries(folder) if each.suffix == ".raw" and NAME.fullmatch(each.stem)]


def _half_made_disks(store: Store, machines: list[Path]) -> Iterator[dict[str, Any]]:
    for directory in machines:
        if (directory / EXPECTED).exists():
            continue  # deleted together with the whole copy
        for part in _entries(directory / "disks"):
            if not _is_part(part) or tasks.is_running(store.tasks(), _disk_task(directory.name, part.stem)):
                continue
            name = f"machines/{directory.name}/{part.name}"
            yield _leftover(name, part, machine=directory.name, disk=part.stem)


def _on_their_way(store: Store) -> Iterator[dict[str, Any]]:
    for folder in FOLDERS:
        for path in _entries(store.root / folder):
            if not FILE.fullmatch(path.name):
                continue
            if folder == "outgoing" and tasks.is_running(store.tasks(), f"save.{path.stem}"):
                continue
            yield _leftover(f"{folder}/{path.name}", path)


def _half_made_volumes(store: Store) -> Iterator[dict[str, Any]]:
    if store.shared is None:
        return
    for path in _entries(store.shared / "volumes"):
        if _is_part(path) and not tasks.is_running(store.shared_tasks(), f"volume.{path.stem}"):
            yield _leftover(f"shared/volumes/{path.name}", path)


def _is_part(path: Path) -> bool:
    return path.suffix == ".part" and bool(NAME.fullmatch(path.stem))


def _leftover(name: str, path: Path, machine: str = "", disk: str = "") -> dict[str, Any]:
    try:
        age = max(0.0, time.time() - path.stat().st_mtime)
    except FileNotFoundError:
        age = 0.0  # renamed just now, because it is complete
    return {"name": name, "machine": machine, "disk": disk, "age": age}


def _volumes_in_use(store: Store) -> dict[str, list[str]]:
    """The volumes that each machine's processes have open."""
    if store.shared is None:
        return {}
    machines, volumes = (store.root / "machines").resolve(), (store.shared / "volumes").resolve()
    found: dict[str, set[str]] = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        try:
            where = Path(os.readlink(process / "cwd"))
            if where.parent != machines:
                continue
            opened = [Path(os.readlink(each)) for each in (process / "fd").iterdir()]
        except OSError:
            continue  # the process has ended, or belongs to another user
        found.setdefault(where.name, set()).update(
            each.stem for each in opened if each.parent == volumes and each.suffix == ".raw"
        )
    return {name: sorted(each) for name, each in found.items()}


# --- setting aside ------------------------------------------------------------------------------------------------


def set_aside(store: Store, machine: str, disk: str | None = None) -> None:
    """Rename a machine that is off, or one of its disks, into the folder ``aside``.

    `Refused` while the machine is on, or the disk in use.
    """
    try:
        with locked_machine(store, machine, defined=False) as (directory, _):
            if disk is None:
                if is_on(directory):
                    raise Refused("The machine is on.")
                machine_disks.end_tasks(store, machine)
                firewalls.remove(store, machine)
                directory.rename(_free(store.root / ASIDE, machine))
            else:
                _put_away(store.disk(machine, disk), store.root / ASIDE)
    except NoMachine:
        return


def set_volume_aside(store: Store, volume: str) -> None:
    """Set a volume aside in the directory that the hosts share. `Refused` while a machine has the volume."""
    path = store.volume(volume)
    _put_away(path, path.parent.parent / ASIDE)  # beside the folder of the volumes


def _put_away(path: Path, folder: Path) -> None:
    """Settle a disk's file, and rename it into the folder."""
    if not path.exists():
        return
    with locks.lock_disk(path):
        ext.put_back(path)
        path.rename(_free(folder, path.stem, ".raw"))


def _shared_aside(store: Store) -> Path | None:
    return None if store.shared is None else store.shared / ASIDE


def _free(folder: Path, name: str, suffix: str = "") -> Path:
    """An unused path in the folder. A number is added if another file of this name was set aside before."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target, number = folder / f"{name}{suffix}", 1
    while target.exists():
        number += 1
        target = folder / f"{name}-{number}{suffix}"
    return target


def discard(store: Store, name: str) -> None:
    """Delete a leftover, a set-aside file or machine, or a shell of a machine, by its name in the inventory."""
    parts = name.split("/")
    match parts:
        case [machine] if NAME.fullmatch(machine):
            _discard_shell(store, machine)
        case ["aside", entry] | ["shared", "aside", entry]:
            _discard_aside(store, entry, shared=len(parts) == 3)
        case ["machines", machine, part] if FILE.fullmatch(part) and part.endswith(".part"):
            _discard_part(store, machine, part.removesuffix(".part"))
        case ["incoming" | "outgoing", file] if FILE.fullmatch(file):
            if parts[0] == "outgoing" and tasks.is_running(store.tasks(), f"save.{Path(file).stem}"):
                raise Failed("The object is still being created.")
            records.remove(store.root / parts[0] / file)
        case ["shared", "volumes", part] if FILE.fullmatch(part) and part.endswith(".part"):
            volume = part.removesuffix(".part")
            if tasks.is_running(store.shared_tasks(), f"volume.{checked(volume)}"):
                raise Failed("The object is still being created.")
            store.volume(volume).with_suffix(".part").unlink(missing_ok=True)
        case _:
            raise Refused(f"{name!r:.100} is not the name of a leftover, a quarantined object or a shell.")


def _discard_shell(store: Store, machine: str) -> None:
    try:
        with locked_machine(store, machine, defined=False) as (directory, _):
            arriving = (directory / EXPECTED).exists() and not (directory / DESCRIPTION).exists()
            if is_on(directory) or (_complete(directory / "disks") and not arriving):
                raise Refused("This machine has disks or is on. It is not deleted as a shell.")
            machine_disks.end_tasks(store, machine)
            firewalls.remove(store, machine)
            gone = _free(store.root / ASIDE, f"{machine}-shell")
            directory.rename(gone)
        shutil.rmtree(gone)
    except NoMachine:
        return


def _discard_aside(store: Store, entry: str, shared: bool) -> None:
    if not NAME.fullmatch(entry.removesuffix(".raw")):
        raise Refused(f"{entry!r:.100} is not a valid name.")
    folder = _shared_aside(store) if shared else store.root / ASIDE
    if folder is None:
        return
    path = folder / entry
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _discard_part(store: Store, machine: str, disk: str) -> None:
    path = store.disk(machine, disk)
    try:
        with locked_machine(store, machine, defined=False):
            if tasks.is_running(store.tasks(), _disk_task(machine, disk)):
                raise Failed("The object is still being created.")
            path.with_suffix(".part").unlink(missing_ok=True)
            records.remove(machine_disks.coming(path))
    except NoMachine:
        return


def _disk_task(machine: str, disk: str) -> str:
    return f"disk.{checked(machine)}.{checked(disk)}"
