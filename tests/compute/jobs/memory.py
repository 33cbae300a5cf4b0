"""A hypervisor in memory, which fails or dies at the call it is told to."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from compute.drivers.base import DONE, BootSpec, DiskSpec, DriverError, MachineSpec, Power, Progress, Refused

ASKING = ("power", "disks", "powered_off")


class WorkerDied(BaseException):
    """Stands in for SIGKILL: nothing catches it, so nothing is settled."""


class MemoryDriver:
    """Keeps machines in a dictionary. `before` and `after` are asked around each call that has an effect."""

    def __init__(self) -> None:
        self.machines: dict[str, dict[str, Any]] = {}
        self.archives: dict[str, int] = {}
        self.calls: list[str] = []
        self.before: Callable[[int, str], None] = lambda number, name: None
        self.after: Callable[[int, str], None] = lambda number, name: None

    def _call(self, name: str) -> int:
        number = len(self.calls)
        self.calls.append(name)
        self.before(number, name)
        return number

    def define(self, spec: MachineSpec) -> None:
        number = self._call("define")
        self.machines.setdefault(spec.name, {"on": False, "disks": {}, "host": spec.host})
        self.after(number, "define")

    def undefine(self, machine: str) -> None:
        number = self._call("undefine")
        self.machines.pop(machine, None)
        self.after(number, "undefine")

    def create_disk(self, machine: str, disk: DiskSpec) -> Progress:
        number = self._call("create_disk")
        if machine not in self.machines:
            raise Refused("There is no such machine.")
        self.machines[machine]["disks"][disk.name] = disk
        self.after(number, "create_disk")
        return DONE

    def delete_disk(self, machine: str, disk: str) -> None:
        number = self._call("delete_disk")
        if machine in self.machines:
            self.machines[machine]["disks"].pop(disk, None)
        self.after(number, "delete_disk")

    def resize_disk(self, machine: str, disk: str, size: int) -> Progress:
        number = self._call("resize_disk")
        if disk not in self.disks(machine) or self.machines[machine]["on"]:
            raise Refused("There is no such disk, or it is in use.")
        disks = self.machines[machine]["disks"]
        disks[disk] = replace(disks[disk], size=size)
        self.after(number, "resize_disk")
        return DONE

    def disks(self, machine: str) -> frozenset[str]:
        return frozenset(self.machines.get(machine, {"disks": {}})["disks"])

    def start(self, machine: str, boot: BootSpec) -> Progress:
        number = self._call("start")
        if machine not in self.machines:
            raise Refused("There is no such machine.")
        self.machines[machine]["on"] = True
        self.after(number, "start")
        return DONE

    def stop(self, machine: str) -> Progress:
        number = self._call("stop")
        if machine in self.machines:
            self.machines[machine]["on"] = False
        self.after(number, "stop")
        return DONE

    def move(self, machine: str, host: str) -> Progress:
        number = self._call("move")
        if machine not in self.machines or self.machines[machine]["on"]:
            raise Refused("There is no such machine, or it is on.")
        self.machines[machine]["host"] = host
        self.after(number, "move")
        return DONE

    def save_disk(self, machine: str, disk: str, archive: str) -> Progress:
        number = self._call("save_disk")
        if disk not in self.disks(machine):
            raise Refused("There is no such disk.")
        self.archives.setdefault(archive, self.machines[machine]["disks"][disk].size)
        self.after(number, "save_disk")
        return DONE

    def archive_upload(self, archive: str, path: str, size: int) -> Progress:
        number = self._call("archive_upload")
        if archive not in self.archives:
            if not Path(path).exists():
                raise Refused("The file is gone.")
            self.archives[archive] = size
        self.after(number, "archive_upload")
        return DONE

    def archive_size(self, archive: str) -> int | None:
        return self.archives.get(archive)

    def delete_archive(self, archive: str) -> None:
        number = self._call("delete_archive")
        self.archives.pop(archive, None)
        self.after(number, "delete_archive")

    def power(self, machine: str) -> Power:
        if machine not in self.machines:
            return Power.ABSENT
        return Power.ON if self.machines[machine]["on"] else Power.OFF

    def powered_off(self, host: str) -> frozenset[str]:
        return frozenset(n for n, m in self.machines.items() if m["host"] == host and not m["on"])


def failing_at(
    number: int, error: BaseException | None = None, times: int | None = None
) -> Callable[[int, str], None]:
    """Raise at the call with this number and at every later call of the same name; with `times`, so often."""
    name_at: list[str] = []
    raised: list[int] = []

    def hook(current: int, name: str) -> None:
        if current == number:
            name_at.append(name)
        if name in name_at and (times is None or len(raised) < times):
            raised.append(current)
            raise error or DriverError("The host does not answer.")

    return hook


def dying_once_at(number: int) -> Callable[[int, str], None]:
    """Let the worker die at the call with this number, once."""

    def hook(current: int, name: str) -> None:
        if current == number:
            raise WorkerDied

    return hook
