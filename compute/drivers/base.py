"""What the platform asks of a hypervisor.

A driver knows machines and disks by *names* that the platform derives from its own ids before the first call
(``skerry-<instance id>``, ``skerry-<instance id>-disk-<disk id>``), so that a call repeated after a crash means
the same thing. *Archives* are contents of disks kept apart from any machine, for images and backups, under names
made likewise (``skerry-image-<number>``, ``skerry-backup-<backup id>-<position>``). *Volumes* are disks of no
machine (``skerry-volume-<volume id>``), in reach of all hosts of their region; a machine that is on has those it
booted with and those that were plugged in since. It imports neither Django nor anything of ours: plain values in,
plain values out.

Every call is idempotent: asked for what is already so, it does nothing and says so; a deletion of what was never
made succeeds. A call that takes long only starts the work and returns `Progress`; the same call, repeated, reports
how far it has come. Calls for one machine may come from several processes at once and are served one after the
other. No call blocks for longer than the driver timeout, and no call sleeps.

docs/drivers.md tells how to write one; tests/compute/drivers/test_contract.py holds every driver against this.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class DriverError(Exception):
    """The hypervisor could not do it now; the same call may succeed later. The text may be shown to customers."""


class Refused(DriverError):
    """The hypervisor will never do it, such as a boot from a disk that is not there. Retrying is pointless."""


class Unreachable(DriverError):
    """A host does not answer: no connection, or silence until the time limit. The call may succeed when it is back.

    `host` is the host's name, as in `MachineSpec.host`; None where the driver cannot tell which it is. Staff see
    the host as down from the first such error on until the watchdog's call is answered. An error that a host itself
    returns is a plain `DriverError`.
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
    """How far a long call has come. `percent` 0..100; `wait` is when to ask again, in seconds.

    Calls that copy data may tell `rate`, in MB a second, and `remaining`, in seconds.
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
    """The frame of a machine: what does not change when it boots another profile. Memory in MB."""

    name: str
    host: str
    memory: int
    vcpus: int
    mac: str


@dataclass(frozen=True, slots=True)
class DiskSpec:
    """A disk to make. `size` in MB.

    With `image`, an official image's id or the name of an archive, it is deployed from that; what else is given is
    then put into it: root's password, keys, and a `script` for its first boot. Without them it stays as archived.
    With `copy_of`, a machine and one of its disks, it is a copy of that disk, byte for byte. The secrets are never
    kept by a driver in readable form.
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
    """A volume to make, empty or with `copy_of` as a copy of that one, byte for byte. `size` in GB."""

    name: str
    region: str
    size: int
    hardware: str
    copy_of: str | None = None


@dataclass(frozen=True, slots=True)
class FirewallSpec:
    """What a host is to filter a machine's public traffic by.

    `ruleset` is read by ``nft -f`` on the host: a table of the machine's own name, whose rules match the host's
    side of the machine's public interface by its name (``sk-<instance id>``) and expect the host to route there. It
    takes away the table as it was; where nothing is to be filtered, that is all it does. Of two, that with the
    higher `version` is the newer one.
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
    """Those of these names that are volumes', each with the label that the guest finds it by."""
    ipv4: tuple[str, ...] = ()
    ipv6: str | None = None
    helpers: dict[str, bool] = field(default_factory=dict)
    interfaces: tuple[dict[str, Any], ...] = ()
    rescue: bool = False
    """Boot a rescue system of the hypervisor's own, with what disks there are; it needs none."""
    firewall: FirewallSpec | None = None
    """Set as by `set_firewall`, before the guest has a network. None leaves it as it is."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a machine has used: counters that only grow, but may begin again at 0 with a boot or a move.

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

        One that is known keeps its power and disks and takes the new memory, vcpus and mac for its next boot.
        `Refused` where it is known on another host.
        """

    def undefine(self, machine: str) -> None:
        """Forget the machine, cutting its power first, and delete every disk it still has."""

    def create_disk(self, machine: str, disk: DiskSpec) -> Progress:
        """Make a disk of this machine, deploying its image or copying its model if it has one.

        `Refused` without the machine, the archive or the disk to copy, or where what it is made from does not fit.
        """

    def resize_disk(self, machine: str, disk: str, size: int) -> Progress:
        """Make a disk this many MB large, with its filesystem.

        `Refused` where it is not there, while a machine that is on has booted with it, and where the files on it
        need more.
        """

    def set_password(self, machine: str, disk: str, password: str) -> None:
        """Set root's password in the system on a disk.

        `Refused` where it is not there or holds no system, and while a machine that is on has booted with it.
        """

    def delete_disk(self, machine: str, disk: str) -> None:
        """Delete a disk, made or half-made. `DriverError` while a machine that is on has booted with it."""

    def disks(self, machine: str) -> frozenset[str]:
        """The names of the disks that exist for this machine, half-made ones included."""

    def start(self, machine: str, boot: BootSpec) -> Progress:
        """Power on. Done when the guest has booted. A machine that is on stays as it is; one that is shutting down
        is let finish and then booted.

        `Refused` without the machine, or where a disk or volume of `boot` is missing, or where it has none and is
        no rescue, or where another machine that is on has one of its volumes; `DriverError` while one is half-made.
        """

    def stop(self, machine: str) -> Progress:
        """Ask the guest to shut down, and cut the power if it does not. Done when the power is off, or when there
        is no such machine."""

    def set_firewall(self, machine: str, firewall: FirewallSpec) -> int:
        """Filter a machine's traffic by this from now on, on or off, wherever it moves and however often its host
        restarts.

        Returns the version that holds then: where the machine has a newer one already, nothing changes and that is
        returned; 0 where there is no such machine.
        """

    def power(self, machine: str) -> Power:
        """Whether the machine is on, off, or not there at all. On from the start of its boot to the end of its
        shutdown."""

    def powered_off(self, host: str) -> frozenset[str]:
        """The names of the machines on `host` that are defined and off: what the watchdog looks at."""

    def usage(self, host: str) -> list[Usage]:
        """What each machine on `host` that is on has used."""

    def move(self, machine: str, host: str) -> Progress:
        """Take a machine that is off to another host, with all its disks. Done when it is there alone.

        To the host it is on: done at once. Asked for another host while one move is under way, it goes there
        instead. `Refused` where it is not there or is on.
        """

    def save_disk(self, machine: str, disk: str, archive: str) -> Progress:
        """Keep what is on a disk now as an archive, in use or not. `Refused` without the disk.

        An archive of that name that is complete stays as it is.
        """

    def archive_upload(self, archive: str, path: str, size: int) -> Progress:
        """Make an archive of the raw disk image in this gzip file. `Refused` where the file is gone.

        It unpacks to `size` MB, as was counted when it came in: a gzip file's own trailer does not tell.
        """

    def create_volume(self, volume: VolumeSpec) -> Progress:
        """Make a volume, copying its model if it has one, plugged in or not. `Refused` where that is not there."""

    def resize_volume(self, volume: str, size: int) -> Progress:
        """Make a volume this many GB large, plugged in or not.

        `Refused` where it is not there, and where it is larger than that: a volume only grows.
        """

    def volume_size(self, volume: str) -> int | None:
        """How many GB a volume has, half-made or not; None where there is none."""

    def delete_volume(self, volume: str) -> None:
        """Delete a volume, made or half-made. `DriverError` while a machine that is on has it."""

    def plug(self, machine: str, volume: str, label: str) -> None:
        """Let a machine that is on have a volume, which the guest finds by its label, until it is off again.

        Nothing happens to one that is off. `Refused` without the machine or the volume, and where another machine
        that is on has it; `DriverError` while it is half-made.
        """

    def unplug(self, machine: str, volume: str) -> None:
        """Take a volume away from a machine, whether it booted with it or not."""

    def archive_size(self, archive: str) -> int | None:
        """How many MB an archive takes up, at least 1; None where there is no complete one."""

    def delete_archive(self, archive: str) -> None:
        """Delete an archive, complete or not."""
