"""The interface of the platform to a hypervisor.

A driver knows machines and disks by *names* that the platform derives from its own ids before the first call
(``skerry-<instance id>``, ``skerry-<instance id>-disk-<disk id>``), so that a call repeated after a crash means the
same thing. *Archives* are contents of disks kept apart from any machine, for images and backups, under names made
likewise (``skerry-image-<number>``, ``skerry-backup-<backup id>-<position>``). *Volumes* are disks of no machine
(``skerry-volume-<volume id>``), in reach of all hosts of their region; a machine that is on has the volumes it
booted with and those plugged in since. A driver imports neither Django nor anything of ours: plain values in, plain
values out.

Every call is idempotent: where its result is there already, it changes nothing and reports success; deleting what
was never made succeeds. A call that takes long only starts the work and returns `Progress`; the same call,
repeated, reports how far the work has come. Calls for one machine may come from several processes at once and are
served one after the other. No call blocks for longer than the driver timeout, and no call sleeps.

docs/drivers.md tells how to write a driver; tests/compute/drivers/test_contract.py holds every driver against this.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class DriverError(Exception):
    """The hypervisor could not carry out a call now, but may do so later. The text may be shown to customers."""


class Refused(DriverError):
    """The hypervisor will never carry out the call, such as a boot from a missing disk. Retrying is pointless."""


class Unreachable(DriverError):
    """A host does not answer: no connection, or silence until the time limit. The call may succeed later.

    `host` is the host's name, as in `MachineSpec.host`; None where the driver cannot tell which host it is. Staff
    see the host as down from the first such error on until the watchdog's call is answered. An error that a host
    itself returns is a plain `DriverError`.
    """

    def __init__(self, message: str, host: str | None = None):
        super().__init__(message)
        self.host = host


class Power(StrEnum):
    ON = "on"
    OFF = "off"
    ABSENT = "absent"
    """No such machine is defined."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a long call. `percent` 0..100; `wait` is the time until the next question, in seconds.

    Calls that copy data may report `rate`, in MB a second, and `remaining`, in seconds.
    """

    percent: int = 100
    wait: float = 1.0
    rate: float | None = None
    remaining: float | None = None

    @property
    def done(self) -> bool:
        return self.percent >= 100


DONE = Progress()


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """The lasting properties of a machine, which do not change when it boots another profile. Memory in MB."""

    name: str
    host: str
    memory: int
    vcpus: int
    mac: str


@dataclass(frozen=True, slots=True)
class DiskSpec:
    """A disk to make. `size` in MB.

    With `image`, an official image's id or the name of an archive, the disk is deployed from it; then root's
    password, the keys and a `script` for the first boot are put into it, those that are given. Without them the
    disk stays as archived. With `copy_of`, a machine and one of its disks, the disk is a copy of that one, byte for
    byte. A driver never keeps the secrets in readable form.
    """

    name: str
    size: int
    filesystem: str
    image: str | None = None
    copy_of: tuple[str, str] | None = None
    root_password: str | None = field(default=None, repr=False)
    authorized_keys: tuple[str, ...] = field(default=(), repr=False)
    script: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class VolumeSpec:
    """A volume to make, empty or as a copy of the volume `copy_of`, byte for byte. `size` in GB."""

    name: str
    region: str
    size: int
    hardware: str
    copy_of: str | None = None


@dataclass(frozen=True, slots=True)
class FirewallSpec:
    """The packet filter of a machine, for its public traffic.

    `ruleset` is read by ``nft -f`` on the host: a table of the machine's own name, whose rules match the host's
    side of the machine's public interface by its name (``sk-<instance id>``) and expect the host to route there.
    The ruleset first deletes the earlier table; where nothing is to be filtered, that is all it does. Of two
    packet filters, the one with the higher `version` is newer.
    """

    version: int
    ruleset: str


@dataclass(frozen=True, slots=True)
class BootSpec:
    """How a machine boots: disks and volumes by slot, kernel and addresses. `memory` in MB."""

    kernel: str
    root_device: str
    run_level: str
    virt_mode: str
    memory: int
    devices: dict[str, str]
    """Slot (``sda``) to the name of a disk or a volume."""
    volumes: dict[str, str] = field(default_factory=dict)
    """The names in `devices` that are volumes, each with the label by which the guest finds the volume."""
    ipv4: tuple[str, ...] = ()
    ipv6: str | None = None
    helpers: dict[str, bool] = field(default_factory=dict)
    interfaces: tuple[dict[str, Any], ...] = ()
    rescue: bool = False
    """Boot a rescue system of the hypervisor's own, with the disks in `devices`; it needs none."""
    firewall: FirewallSpec | None = None
    """Set as by `set_firewall`, before the guest has a network. None leaves the packet filter as it is."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage counters of a machine: they only grow, but may begin again at 0 with a boot or a move.

    `cpu` in seconds of one core; `io` and `swap` in blocks read and written, swap disks counting as `swap` alone;
    the others in bytes on its public and private networks.
    """

    machine: str
    cpu: float = 0.0
    io: int = 0
    swap: int = 0
    v4_in: int = 0
    v4_out: int = 0
    v4_private_in: int = 0
    v4_private_out: int = 0
    v6_in: int = 0
    v6_out: int = 0
    v6_private_in: int = 0
    v6_private_out: int = 0


class Driver(Protocol):
    """A hypervisor. Machine and disk names are as above; all errors are `DriverError`."""

    def define(self, spec: MachineSpec) -> None:
        """Make the machine known, powered off and without disks.

        A known machine keeps its power and disks and takes the new memory, vcpus and mac for its next boot.
        `Refused` where the machine is known on another host.
        """

    def undefine(self, machine: str) -> None:
        """Forget the machine, cutting its power first, and delete every disk it still has."""

    def create_disk(self, machine: str, disk: DiskSpec) -> Progress:
        """Make a disk of this machine, deploying its image or copying another disk if its spec names one.

        `Refused` without the machine, the archive or the disk to copy, or where the content does not fit.
        """

    def resize_disk(self, machine: str, disk: str, size: int) -> Progress:
        """Resize a disk with its filesystem to `size` MB.

        `Refused` where the disk is missing, while a machine that is on has booted with it, and where its files need
        more.
        """

    def set_password(self, machine: str, disk: str, password: str) -> None:
        """Set root's password in the system on a disk.

        `Refused` where the disk is missing or holds no system, and while a machine that is on has booted with it.
        """

    def delete_disk(self, machine: str, disk: str) -> None:
        """Delete a disk, made or half-made. `DriverError` while a machine that is on has booted with it."""

    def disks(self, machine: str) -> frozenset[str]:
        """The names of the disks that exist for this machine, half-made ones included."""

    def start(self, machine: str, boot: BootSpec) -> Progress:
        """Power the machine on. Done when the guest has booted.

        A machine that is on stays as it is; one that is shutting down boots after it has finished. `Refused`
        without the machine, where a disk or volume of `boot` is missing, where `boot` has none and is no rescue,
        and where another machine that is on has one of the volumes; `DriverError` while a disk or volume is
        half-made.
        """

    def stop(self, machine: str) -> Progress:
        """Ask the guest to shut down, and cut the power if it does not. Done when the power is off, or when there
        is no such machine."""

    def set_firewall(self, machine: str, firewall: FirewallSpec) -> int:
        """Filter a machine's traffic by `firewall` from now on, on or off, across moves and restarts of its host.

        Returns the version in force afterwards: a newer one than the given stays in force; 0 where there is no such
        machine.
        """

    def power(self, machine: str) -> Power:
        """Whether the machine is on, off, or not there at all. On from the start of its boot to the end of its
        shutdown."""

    def powered_off(self, host: str) -> frozenset[str]:
        """The names of the machines on `host` that are defined and off: what the watchdog looks at."""

    def usage(self, host: str) -> list[Usage]:
        """The usage of each machine on `host` that is on."""

    def move(self, machine: str, host: str) -> Progress:
        """Move a machine that is off to another host, with all its disks. Done when it is on that host alone.

        A move to the machine's own host is done at once. Called with another host while one move is under way, the
        machine goes there instead. `Refused` where the machine is missing or is on.
        """

    def save_disk(self, machine: str, disk: str, archive: str) -> Progress:
        """Save the present content of a disk, in use or not, as an archive. `Refused` without the disk.

        A complete archive of that name stays as it is.
        """

    def archive_upload(self, archive: str, path: str, size: int) -> Progress:
        """Make an archive of the raw disk image in the gzip file at `path`. `Refused` where the file is gone.

        The image unpacks to `size` MB, as counted during the upload: a gzip file's own trailer does not tell.
        """

    def create_volume(self, volume: VolumeSpec) -> Progress:
        """Make a volume, as a copy if `copy_of` is set, plugged in or not. `Refused` without the original."""

    def resize_volume(self, volume: str, size: int) -> Progress:
        """Resize a volume to `size` GB, plugged in or not.

        `Refused` where the volume is missing, and where it is larger than `size`: a volume only grows.
        """

    def volume_size(self, volume: str) -> int | None:
        """The size of a volume in GB, half-made or not; None where there is no such volume."""

    def delete_volume(self, volume: str) -> None:
        """Delete a volume, made or half-made. `DriverError` while a machine that is on has it."""

    def plug(self, machine: str, volume: str, label: str) -> None:
        """Plug a volume into a machine that is on, until it is off again. The guest finds the volume by its label.

        A machine that is off stays as it is. `Refused` without the machine or the volume, and where another machine
        that is on has the volume; `DriverError` while the volume is half-made.
        """

    def unplug(self, machine: str, volume: str) -> None:
        """Unplug a volume from a machine, whether the machine booted with it or not."""

    def archive_size(self, archive: str) -> int | None:
        """The size of an archive in MB; None where there is no complete archive of that name.

        It is 0 for an upload that unpacks to nothing, and at least 1 for all others.
        """

    def delete_archive(self, archive: str) -> None:
        """Delete an archive, complete or not."""
