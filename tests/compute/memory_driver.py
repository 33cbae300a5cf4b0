"""A hypervisor in memory, which fails or kills the worker at a chosen call."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from compute.drivers.base import (
    DONE,
    Address,
    BootSpec,
    Console,
    DiskSpec,
    Driver,
    DriverError,
    Ended,
    FirewallSpec,
    FoundMachine,
    HostReport,
    Inventory,
    Leftover,
    MachineSpec,
    Power,
    Progress,
    Refused,
    Unreachable,
    Usage,
    VolumeSpec,
)
from compute.drivers.consoles import showing

ASKING = (
    "power",
    "disks",
    "powered_off",
    "usage",
    "inventory",
    "volume_size",
    "archive_size",
    "console",
    "ssh_port",
)
"""Calls that have no effect."""
PARTITIONED = "The image is not an ext file system without partitions."
FILES = 8
"""The size in MB of the files on a new disk."""


class WorkerDied(BaseException):
    """A stand-in for SIGKILL. Nothing catches it, so nothing is cleaned up."""


class MemoryDriver:
    """The machines of all hosts, in a dictionary. `at` returns the driver of one host.

    `before` and `after` are called around each call that has an effect.
    """

    def __init__(self) -> None:
        self.host = ""
        self.machines: dict[str, dict[str, Any]] = {}
        self.volumes: dict[str, VolumeSpec] = {}
        self.archives: dict[str, int] = {}
        """The size of each in MB."""
        self.partitioned: set[str] = set()
        """The archives of disks with partitions."""
        self.contents: dict[str, DiskSpec] = {}
        """The disks from which archives were made."""
        self.used: dict[str, int] = {}
        """The size in MB of the files on each disk, by name. The default is `FILES`."""
        self.usages: dict[str, Usage] = {}
        """The usage of machines, by name."""
        self.aside: dict[str, tuple[str, Any]] = {}
        """Things that were set aside, by name, with the host that has each."""
        self.peers: dict[str, tuple[str, tuple[str, ...]]] = {}
        """The address between hosts that each host received for itself, and those of the others."""
        self.customers: dict[str, tuple[str, ...]] = {}
        """The networks of customers that each host received."""
        self.leftovers: dict[str, list[Leftover]] = {}
        """The leftovers of each host."""
        self.calls: list[str] = []
        self.silent: set[str] = set()
        """The hosts that do not answer."""
        self.unanswered: list[str] = []
        """The calls to silent hosts."""
        self.before: Callable[[int, str], None] = lambda number, name: None
        self.after: Callable[[int, str], None] = lambda number, name: None

    def at(self, address: Address) -> "MemoryDriver":
        """Return the driver of this host. Hypervisor and recorded calls are shared."""
        there = copy(self)
        there.host = address.name
        return there

    def _call(self, name: str) -> int:
        number = len(self.calls)
        self.calls.append(name)
        self.before(number, name)
        if self.host in self.silent:
            self.unanswered.append(name)
            raise Unreachable("The host does not answer.", self.host)
        return number

    def prepare(self) -> Progress:
        return DONE

    def inspect(self) -> HostReport:
        return HostReport()

    def same_volumes(self, other: Driver) -> bool:
        return True

    def define(self, spec: MachineSpec) -> None:
        number = self._call("define")
        new: dict[str, Any] = {"on": False, "disks": {}, "host": self.host, "boot": None, "plugged": {}}
        new["firewall"], new["ended"] = None, None
        there = self.machines.setdefault(spec.name, new)
        if there["host"] != self.host:
            raise Refused("The machine is defined on another host.")
        there.update(memory=spec.memory, vcpus=spec.vcpus)
        self.after(number, "define")

    def undefine(self, machine: str) -> None:
        number = self._call("undefine")
        self.machines.pop(machine, None)
        self.after(number, "undefine")

    def create_disk(self, machine: str, disk: DiskSpec, source: Driver | None = None) -> Progress:
        number = self._call("create_disk")
        disks = self._machine(machine)["disks"]
        if disk.name not in disks:
            original, files = self._original(disk)
            if files > disk.size:
                raise Refused(f"The disk needs {files} MB for the content of its source.")
            password = disk.root_password or (original.root_password if original else None)
            disks[disk.name] = replace(disk, root_password=password)
            self.used[disk.name] = files
        self.after(number, "create_disk")
        return DONE

    def _original(self, disk: DiskSpec) -> tuple[DiskSpec | None, int]:
        """Return the archive or disk that a disk is made from, if any, and the size of the new disk's files in
        MB."""
        if disk.copy_of:
            original = self._disk(*disk.copy_of)
            return original, self._files(original.name)
        if disk.image is None or "/" in disk.image:
            return None, min(disk.size, self._files(disk.name))
        if disk.image not in self.archives:
            raise Refused("The archive does not exist.")
        return self.contents.get(disk.image), self.archives[disk.image]

    def _machine(self, machine: str) -> dict[str, Any]:
        if machine not in self.machines:
            raise Refused("The machine does not exist.")
        return self.machines[machine]

    def _disk(self, machine: str, disk: str) -> DiskSpec:
        if disk not in self.disks(machine):
            raise Refused("The disk does not exist.")
        return self.machines[machine]["disks"][disk]

    def _files(self, name: str) -> int:
        return self.used.get(name, FILES)

    def _in_use(self, machine: str, disk: str) -> bool:
        """Tell whether the machine is on and has booted with the disk."""
        there = self.machines.get(machine)
        return bool(there and there["on"] and disk in there["boot"].devices.values())

    def delete_disk(self, machine: str, disk: str) -> None:
        number = self._call("delete_disk")
        if self._in_use(machine, disk):
            raise DriverError("The disk is in use by a machine that is on.")
        if machine in self.machines:
            self.machines[machine]["disks"].pop(disk, None)
        self.after(number, "delete_disk")

    def resize_disk(self, machine: str, disk: str, size: int) -> Progress:
        number = self._call("resize_disk")
        there = self._disk(machine, disk)
        if there.size != size:
            if self._in_use(machine, disk):
                raise Refused("The disk is in use by a machine that is on.")
            if self._files(disk) > size:
                raise Refused(f"The files on the disk need {self._files(disk)} MB.")
            self.machines[machine]["disks"][disk] = replace(there, size=size)
        self.after(number, "resize_disk")
        return DONE

    def set_password(self, machine: str, disk: str, password: str) -> None:
        number = self._call("set_password")
        there = self._disk(machine, disk)
        if there.root_password is None:
            raise Refused("The disk has no system with passwords.")
        if self._in_use(machine, disk):
            raise Refused("The disk is in use by a machine that is on.")
        self.machines[machine]["disks"][disk] = replace(there, root_password=password)
        self.after(number, "set_password")

    def disks(self, machine: str) -> frozenset[str]:
        return frozenset(self.machines.get(machine, {"disks": {}})["disks"])

    def start(self, machine: str, boot: BootSpec) -> Progress:
        number = self._call("start")
        there = self._machine(machine)
        if not there["on"]:
            disks = set(boot.devices.values()) - boot.volumes.keys()
            if disks - self.disks(machine) or not (boot.devices or boot.rescue):
                raise Refused("A disk to boot from is missing.")
            for volume in boot.volumes:
                self._check_free(machine, volume)
            there.update(on=True, boot=boot, plugged=dict(boot.volumes))
            if boot.firewall:
                self._renew(there, boot.firewall)
        self.after(number, "start")
        return DONE

    def stop(self, machine: str) -> Progress:
        number = self._call("stop")
        if machine in self.machines:
            if self.machines[machine]["on"]:
                self.machines[machine]["ended"] = Ended.ASKED
            self.machines[machine].update(on=False, plugged={})
        self.after(number, "stop")
        return DONE

    def fall(self, machine: str, why: Ended = Ended.GUEST) -> None:
        """Turn a machine off without a call."""
        self.machines[machine].update(on=False, plugged={}, ended=why)

    def cut_power(self, hosts: Iterable[str]) -> None:
        """Cut the power of hosts. Their machines are off, and the hosts do not answer while they are `silent`."""
        self.silent.update(hosts)
        for name, there in self.machines.items():
            if there["on"] and there["host"] in self.silent:
                self.fall(name, Ended.HOST)

    def set_firewall(self, machine: str, firewall: FirewallSpec) -> int:
        number = self._call("set_firewall")
        version = self._renew(self.machines[machine], firewall) if machine in self.machines else 0
        self.after(number, "set_firewall")
        return version

    def _renew(self, there: dict[str, Any], firewall: FirewallSpec) -> int:
        """Store the firewall if its version is newer. Returns the version that is then valid."""
        if there["firewall"] is None or there["firewall"].version < firewall.version:
            there["firewall"] = firewall
        return there["firewall"].version

    def firewall(self, machine: str) -> FirewallSpec | None:
        return self.machines[machine]["firewall"] if machine in self.machines else None

    def receive(self, machine: str, source: Driver) -> Progress:
        number = self._call("receive")
        if self._machine(machine)["on"]:
            raise Refused("The machine is on.")
        self.machines[machine]["host"] = self.host
        self.after(number, "receive")
        return DONE

    def create_volume(self, volume: VolumeSpec) -> Progress:
        number = self._call("create_volume")
        if volume.name not in self.volumes:
            if volume.copy_of is not None and volume.copy_of not in self.volumes:
                raise Refused("The volume to copy does not exist.")
            self.volumes[volume.name] = volume
        self.after(number, "create_volume")
        return DONE

    def resize_volume(self, volume: str, size: int) -> Progress:
        number = self._call("resize_volume")
        if volume not in self.volumes:
            raise Refused("The volume does not exist.")
        if self.volumes[volume].size > size:
            raise Refused("A volume only grows.")
        self.volumes[volume] = replace(self.volumes[volume], size=size)
        self.after(number, "resize_volume")
        return DONE

    def volume_size(self, volume: str) -> int | None:
        return self.volumes[volume].size if volume in self.volumes else None

    def delete_volume(self, volume: str) -> None:
        number = self._call("delete_volume")
        if any(volume in self.plugged(machine) for machine in self.machines):
            raise DriverError("The volume is in use by a machine that is on.")
        self.volumes.pop(volume, None)
        self.after(number, "delete_volume")

    def plug(self, machine: str, volume: str, label: str) -> None:
        number = self._call("plug")
        there = self._machine(machine)
        self._check_free(machine, volume)
        if there["on"]:
            there["plugged"][volume] = label
        self.after(number, "plug")

    def unplug(self, machine: str, volume: str) -> None:
        number = self._call("unplug")
        self.plugged(machine).pop(volume, None)
        self.after(number, "unplug")

    def plugged(self, machine: str) -> dict[str, str]:
        """Return the volumes of a machine that is on, with their labels."""
        there = self.machines.get(machine, {"on": False})
        return there.setdefault("plugged", {}) if there["on"] else {}

    def _check_free(self, machine: str, volume: str) -> None:
        if volume not in self.volumes:
            raise Refused("The volume does not exist.")
        if any(volume in self.plugged(other) for other in self.machines if other != machine):
            raise Refused("Another machine has the volume.")

    def save_disk(self, machine: str, disk: str, archive: str) -> Progress:
        number = self._call("save_disk")
        there = self._disk(machine, disk)
        if archive not in self.archives:
            self.archives[archive] = max(1, self._files(disk))
            self.contents[archive] = there
        self.after(number, "save_disk")
        return DONE

    def archive_upload(self, archive: str, path: str, size: int) -> Progress:
        number = self._call("archive_upload")
        if archive not in self.archives:
            if not Path(path).is_file():
                raise Refused("The file is gone.")
            self.archives[archive] = size
        self.after(number, "archive_upload")
        return DONE

    def archive_size(self, archive: str) -> int | None:
        return self.archives.get(archive)

    def check_system(self, archive: str) -> None:
        if archive in self.partitioned:
            raise Refused(PARTITIONED)

    def delete_archive(self, archive: str) -> None:
        number = self._call("delete_archive")
        self.archives.pop(archive, None)
        self.contents.pop(archive, None)
        self.after(number, "delete_archive")

    def power(self, machine: str) -> Power:
        if machine not in self.machines:
            return Power.ABSENT
        return Power.ON if self.machines[machine]["on"] else Power.OFF

    def console(self, machine: str) -> Console:
        if self.power(machine) is not Power.ON:
            raise Refused("The machine is off.")
        return showing(f"{machine} login: ")

    def ssh_port(self, machine: str) -> int | None:
        return None

    def usage(self) -> list[Usage]:
        on = [name for name, there in self.machines.items() if there["host"] == self.host and there["on"]]
        return [self.usages.get(name, Usage(name)) for name in on]

    def set_peers(self, underlay: str, peers: Sequence[str], customers: Sequence[str] = ()) -> None:
        self._call("set_peers")
        self.peers[self.host] = (underlay, tuple(peers))
        self.customers[self.host] = tuple(customers)

    def inventory(self) -> Inventory:
        here = [(name, each) for name, each in self.machines.items() if each["host"] == self.host]
        found = [
            FoundMachine(
                name,
                Power.ON if each["on"] else Power.OFF,
                frozenset(each["disks"]),
                frozenset(each["plugged"]),
                each["memory"],
                each["vcpus"],
                None if each["on"] else each["ended"],
            )
            for name, each in here
        ]
        aside = frozenset(name for name, (host, _) in self.aside.items() if host in (self.host, ""))
        leftovers = tuple(self.leftovers.get(self.host, ()))
        return Inventory(tuple(found), frozenset(self.volumes), leftovers, aside)

    def set_aside(self, machine: str, disk: str | None = None) -> None:
        number = self._call("set_aside")
        there = self.machines.get(machine)
        if there is not None and there["host"] == self.host:
            if there["on"] if disk is None else self._in_use(machine, disk):
                raise Refused("The machine is on.")
            if disk is None:
                self.aside[self._free(f"aside/{machine}")] = (self.host, self.machines.pop(machine))
            elif disk in there["disks"]:
                self.aside[self._free(f"aside/{disk}")] = (self.host, there["disks"].pop(disk))
        self.after(number, "set_aside")

    def set_volume_aside(self, volume: str) -> None:
        number = self._call("set_volume_aside")
        if any(volume in self.plugged(machine) for machine in self.machines):
            raise Refused("The volume is in use by a machine that is on.")
        if volume in self.volumes:
            self.aside[self._free(f"shared/aside/{volume}")] = ("", self.volumes.pop(volume))
        self.after(number, "set_volume_aside")

    def _free(self, name: str) -> str:
        number = sum(each.startswith(name) for each in self.aside)
        return f"{name}-{number + 1}" if number else name

    def discard(self, name: str) -> None:
        number = self._call("discard")
        there = self.machines.get(name)
        if there is not None and there["host"] == self.host:
            if there["on"] or there["disks"]:
                raise Refused("This is a machine in use.")
            del self.machines[name]
        self.aside.pop(name, None)
        mine = self.leftovers.get(self.host, [])
        self.leftovers[self.host] = [each for each in mine if each.name != name]
        self.after(number, "discard")

    def powered_off(self) -> frozenset[str]:
        return frozenset(n for n, m in self.machines.items() if m["host"] == self.host and not m["on"])


class CountingDriver:
    """A driver that passes each call to a `MemoryDriver`. Calls without an effect are counted and can fail too.

    The worker under test uses it. The tests use the driver behind it, which always answers.
    """

    def __init__(self, driver: MemoryDriver) -> None:
        self._driver = driver

    def at(self, address: Address) -> "CountingDriver":
        return CountingDriver(self._driver.at(address))

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._driver, name)
        return partial(self._ask, name, call) if name in ASKING else call

    def _ask(self, name: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        number = self._driver._call(name)
        answer = call(*args, **kwargs)
        self._driver.after(number, name)
        return answer


def failing_at(
    number: int, error: BaseException | None = None, times: int | None = None
) -> Callable[[int, str], None]:
    """Raise at the call with this number and at later calls of the same name. With `times`, raise only so
    often."""
    name_at: list[str] = []
    raised: list[int] = []

    def hook(current: int, name: str) -> None:
        if current == number:
            name_at.append(name)
        if name in name_at and (times is None or len(raised) < times):
            raised.append(current)
            failure = error or DriverError("The host does not answer.")
            # otherwise each traceback keeps the earlier ones, and each log line formats all of them
            raise failure.with_traceback(None)

    return hook


def dying_once_at(number: int) -> Callable[[int, str], None]:
    """Kill the worker once, at the call with this number."""

    def hook(current: int, name: str) -> None:
        if current == number:
            raise WorkerDied

    return hook
