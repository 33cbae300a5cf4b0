"""The driver of a QEMU host: it translates calls to verbs of the host's agent."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
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
    HostImage,
    HostReport,
    Inventory,
    Leftover,
    MachineSpec,
    Options,
    Power,
    Progress,
    Refused,
    Usage,
    VolumeSpec,
)
from compute.drivers.firewalls import firewall_spec
from compute.drivers.qemu import uploads
from compute.drivers.qemu.agent.disks import ext
from compute.drivers.qemu.agent.disks.machine_disks import NewDisk
from compute.drivers.qemu.agent.store import checked
from compute.drivers.qemu.file_transfers import ArchiveFile, HostFile, copy_file
from compute.drivers.qemu.filters import as_text
from compute.drivers.qemu.host_setup import NO_GUEST
from compute.drivers.qemu.passwords import sha512_crypt
from compute.drivers.qemu.transport import Transport, transport

COPY_SHARE = 0.3
"""The part of a call's timeout for which a call copies data."""

FOR_MACHINES = 90
"""The part of a host's memory and disk for machines, in per cent."""
CORES_SHARED = 4
"""The number of virtual cores for each core of a host."""
ARCHITECTURE = "x86_64"


OTHER_AGENT = (
    "The agent of the host belongs to another release: manage.py host_update installs the agent of this release."
)


class QemuDriver:
    """A `compute.drivers.base.Driver` of one host. Archives are files in a directory on the workers' side."""

    def __init__(self, address: Address, options: Options):
        self.address = address
        self.options = options

    @classmethod
    def connect(cls, address: Address, options: Options) -> "QemuDriver":
        return cls(address, options)

    @cached_property
    def agent(self) -> Transport:
        return transport(self.address, self.options)

    # --- the host -------------------------------------------------------------------------------------------

    def prepare(self) -> Progress:
        if not self.agent.is_current():
            raise Refused(OTHER_AGENT)
        found = self.agent.call("check")
        if found["problems"]:
            remedy = () if found["kernels"] and found["images"] else (NO_GUEST,)
            raise Refused(" ".join([*found["problems"], *remedy]))
        return DONE

    def inspect(self) -> HostReport:
        found = self.agent.call("check")
        means = {"kvm": "by the processor (KVM)", "tcg": "emulated (TCG), which is slow"}
        how = means.get(found["accel"], "not at all")
        return HostReport(
            memory=found["memory"] * FOR_MACHINES // 100,
            vcpus=found["cores"] * CORES_SHARED,
            disk=found["disk"] * FOR_MACHINES // 100,
            architectures=(ARCHITECTURE,),
            images=tuple(HostImage(each["id"], each["os"], each["size"]) for each in found["images"]),
            volumes=found["volumes"],
            notes=(f"QEMU {found['qemu']}: machines run {how}.", *found["problems"]),
        )

    def same_volumes(self, other: Driver) -> bool:
        if not isinstance(other, QemuDriver):
            return False
        left = self.agent.call("leave_mark")
        found = bool(other.agent.call("take_mark", mark=left))
        if not found:
            self.agent.call("take_mark", mark=left)
        return found

    # --- machines -------------------------------------------------------------------------------------------

    def define(self, spec: MachineSpec) -> None:
        self.agent.call("define", machine=spec.name, memory=spec.memory, vcpus=spec.vcpus, mac=spec.mac)

    def undefine(self, machine: str) -> None:
        self.agent.call("undefine", machine=machine)

    def start(self, machine: str, boot: BootSpec) -> Progress:
        values = asdict(boot)
        if boot.firewall is not None and not self.agent.takes_data():
            values["firewall"] = as_text(machine, boot.firewall)
        return _progress(self.agent.call("start", machine=machine, boot=values))

    def stop(self, machine: str) -> Progress:
        return _progress(self.agent.call("stop", machine=machine))

    def set_firewall(self, machine: str, firewall: FirewallSpec) -> int:
        if self.agent.takes_data():
            return int(self.agent.call("set_firewall", machine=machine, firewall=asdict(firewall)))
        return int(self.agent.call("set_firewall", machine=machine, **as_text(machine, firewall)))

    def firewall(self, machine: str) -> FirewallSpec | None:
        """The stored packet filter of a machine. None if there is none, or if an earlier release set it."""
        found = self.agent.call("firewall", machine=machine)
        return None if found is None or "ruleset" in found else firewall_spec(found)

    def power(self, machine: str) -> Power:
        return Power(self.agent.call("power", machine=machine))

    def powered_off(self) -> frozenset[str]:
        return frozenset(self.agent.call("powered_off"))

    def usage(self) -> list[Usage]:
        return [Usage(**each) for each in self.agent.call("usage")]

    def set_peers(self, underlay: str, peers: Sequence[str], customers: Sequence[str] = ()) -> None:
        values = {"customers": list(customers)} if self.agent.takes_data() else {}
        self.agent.call("set_peers", underlay=underlay, peers=list(peers), **values)

    def inventory(self) -> Inventory:
        found = self.agent.call("inventory")
        volumes = found["volumes"]
        return Inventory(
            machines=tuple(_found(each) for each in found["machines"]),
            volumes=None if volumes is None else frozenset(volumes),
            leftovers=tuple(Leftover(**each) for each in found["leftovers"]),
            aside=frozenset(found["aside"]),
        )

    def set_aside(self, machine: str, disk: str | None = None) -> None:
        self.agent.call("set_aside", machine=machine, disk=disk)

    def set_volume_aside(self, volume: str) -> None:
        self.agent.call("set_volume_aside", volume=volume)

    def discard(self, name: str) -> None:
        self.agent.call("discard", name=name)

    def receive(self, machine: str, source: Driver) -> Progress:
        if not isinstance(source, QemuDriver):
            raise Refused("A QEMU host can receive machines only from other QEMU hosts.")
        if source.address.name == self.address.name:
            return DONE
        if self.agent.call("is_whole", machine=machine):
            if self.power(machine) is Power.ON:
                raise Refused("The machine is on.")
            self.agent.call("arrive", machine=machine)
            source.undefine(machine)
            return DONE
        left = source.agent.call("leaving", machine=machine)
        left["firewall"] = self._firewall_for_agent(machine, left["firewall"])
        self.agent.call("expect", machine=machine, left=left)
        done = self._copy_disks(machine, sorted(left["disks"]), source)
        if not done.done:
            return done
        self.agent.call("arrive", machine=machine)
        source.undefine(machine)
        return DONE

    def _firewall_for_agent(self, machine: str, found: dict[str, Any] | None) -> dict[str, Any] | None:
        """The packet filter of an arriving machine, in the form that this host's agent takes.

        A newer agent does not take the form of an earlier release: then the next boot sends the packet filter.
        """
        if found is None:
            return None
        if self.agent.takes_data():
            return None if "ruleset" in found else found
        return found if "ruleset" in found else as_text(machine, firewall_spec(found))

    def _copy_disks(self, machine: str, disks: list[str], source: "QemuDriver") -> Progress:
        """Copy the first disk that is not complete here. For the progress, all disks count the same."""
        for number, disk in enumerate(disks):
            place = ["disk", machine, disk]
            copied = copy_file(HostFile(source.agent, place), HostFile(self.agent, place), self._seconds)
            if not copied.done:
                return Progress((number * 100 + copied.percent) // len(disks), 0.0, copied.rate, copied.remaining)
        return DONE

    @property
    def _seconds(self) -> float:
        return self.options.timeout * COPY_SHARE

    # --- ways in --------------------------------------------------------------------------------------------

    def console(self, machine: str) -> Console:
        return self.agent.console(machine)

    def ssh_port(self, machine: str) -> int | None:
        found: int | None = self.agent.call("ssh_port", machine=machine)
        return found

    # --- disks ----------------------------------------------------------------------------------------------

    def create_disk(self, machine: str, disk: DiskSpec, source: Driver | None = None) -> Progress:
        content, copy_of = disk.image, disk.copy_of
        brought = None
        if disk.copy_of is not None and source is not None and source is not self:
            brought = self._bring_copy(machine, disk.name, disk.copy_of, source)
        elif disk.image is not None and "/" not in disk.image:
            brought = self._bring_archive(machine, disk.name, disk.image)
        if brought is not None:
            if not brought.done:
                return brought
            content, copy_of = disk.name, None
        new = NewDisk(
            machine=machine, disk=disk.name, size=disk.size, filesystem=disk.filesystem, image=content,
            copy_of=copy_of, hostname=host_name(disk.hostname),
            root_hash=None if disk.root_password is None else sha512_crypt(disk.root_password),
            authorized_keys=disk.authorized_keys, script=disk.script,
        )  # fmt: skip
        made = _progress(self.agent.call("create_disk", **asdict(new)))
        if brought is not None and made.done:
            HostFile(self.agent, ["incoming", disk.name]).drop()
        return made

    def _bring_copy(self, machine: str, disk: str, copy_of: tuple[str, str], source: Driver) -> Progress:
        """Copy a disk from another host, where it is first saved like an archive."""
        if not isinstance(source, QemuDriver):
            raise Refused("A QEMU host can copy disks only from other QEMU hosts.")
        place = ["outgoing", disk]
        if self._is_there(machine, disk):
            source.agent.call("drop", place=place)
            return DONE
        original, its_disk = copy_of
        saved = _progress(source.agent.call("save_disk", machine=original, disk=its_disk, archive=disk))
        if not saved.done:
            return _part(saved, 0, 40)
        return _part(self._bring(disk, HostFile(source.agent, place)), 40, 80)

    def _bring_archive(self, machine: str, disk: str, image: str) -> Progress:
        if self._is_there(machine, disk):
            return DONE
        archive = ArchiveFile(self._archive(image))
        if not archive.is_complete():
            raise Refused("The archive does not exist.")
        return _part(self._bring(disk, archive), 0, 80)

    def _bring(self, name: str, source: HostFile | ArchiveFile) -> Progress:
        return copy_file(source, HostFile(self.agent, ["incoming", name]), self._seconds)

    def _is_there(self, machine: str, disk: str) -> bool:
        return self.agent.call("disk_size", machine=machine, disk=disk) is not None

    def resize_disk(self, machine: str, disk: str, size: int) -> Progress:
        return _progress(self.agent.call("resize_disk", machine=machine, disk=disk, size=size))

    def set_password(self, machine: str, disk: str, password: str) -> None:
        self.agent.call("set_password", machine=machine, disk=disk, root_hash=sha512_crypt(password))

    def delete_disk(self, machine: str, disk: str) -> None:
        self.agent.call("delete_disk", machine=machine, disk=disk)

    def disks(self, machine: str) -> frozenset[str]:
        return frozenset(self.agent.call("disks", machine=machine))

    # --- archives -------------------------------------------------------------------------------------------

    def save_disk(self, machine: str, disk: str, archive: str) -> Progress:
        place = HostFile(self.agent, ["outgoing", archive])
        kept = ArchiveFile(self._archive(archive))
        if kept.is_complete():
            kept.finish()
            place.drop()
            return DONE
        saved = _progress(self.agent.call("save_disk", machine=machine, disk=disk, archive=archive))
        if not saved.done:
            return _part(saved, 0, 50)
        copied = _part(copy_file(place, kept, self._seconds), 50, 100)
        if copied.done:
            place.drop()
        return copied

    def archive_upload(self, archive: str, path: str, size: int) -> Progress:
        return uploads.take_in(self._archive(archive), Path(path), size)

    def archive_size(self, archive: str) -> int | None:
        path = self._archive(archive)
        return -(-path.stat().st_size // (1 << 20)) if path.exists() else None

    def check_system(self, archive: str) -> None:
        path = self._archive(archive)
        if path.exists() and not ext.is_ext(path):
            raise Refused(ext.NOT_EXT.format(what="image"))

    def delete_archive(self, archive: str) -> None:
        uploads.delete(self._archive(archive))

    def _archive(self, archive: str) -> Path:
        if not self.options.archives:
            raise DriverError("The directory for archives is not configured.")
        return Path(self.options.archives) / f"{checked(archive)}.raw"

    # --- volumes --------------------------------------------------------------------------------------------

    def create_volume(self, volume: VolumeSpec) -> Progress:
        holder = None if volume.copy_of is None else self.agent.call("machine_with", volume=volume.copy_of)
        return _progress(
            self.agent.call(
                "create_volume", volume=volume.name, size=volume.size, copy_of=volume.copy_of, machine=holder
            )
        )

    def resize_volume(self, volume: str, size: int) -> Progress:
        if not self.agent.call("grow_volume", volume=volume, size=size):
            holder = self.agent.call("machine_with", volume=volume)
            if holder is None or not self.agent.call(
                "resize_running", machine=holder, disk=volume, size=size * (1 << 30)
            ):
                raise DriverError("The volume is in use on another host.")
        return DONE

    def volume_size(self, volume: str) -> int | None:
        found: int | None = self.agent.call("volume_size", volume=volume)
        return found

    def delete_volume(self, volume: str) -> None:
        self.agent.call("delete_volume", volume=volume)

    def plug(self, machine: str, volume: str, label: str) -> None:
        self.agent.call("plug", machine=machine, volume=volume, label=label)

    def unplug(self, machine: str, volume: str) -> None:
        self.agent.call("unplug", machine=machine, volume=volume)


def host_name(label: str | None) -> str | None:
    """The host name for an instance's label: at most 63 characters, with hyphens in place of underscores."""
    return None if label is None else label.replace("_", "-")[:63].rstrip("-.")


def _progress(answer: dict[str, Any]) -> Progress:
    return Progress(**answer)


def _found(answer: dict[str, Any]) -> FoundMachine:
    ended = answer["ended"]
    sets = {name: frozenset(answer[name]) for name in ("disks", "plugged")}
    return FoundMachine(
        **{**answer, **sets, "power": Power(answer["power"]), "ended": None if ended is None else Ended(ended)}
    )


def _part(progress: Progress, begin: int, end: int) -> Progress:
    """The progress of a call, of which this is the part from `begin` to `end` per cent. `DONE` stays `DONE`."""
    if progress.done:
        return DONE
    percent = begin + progress.percent * (end - begin) // 100
    return Progress(percent, progress.wait, progress.rate, progress.remaining)
