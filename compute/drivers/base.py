"""The interface of the platform to a hypervisor.

A driver is one host's: `Address` says how it is reached, and its calls are about the machines there. It knows
machines and disks by *names* that the platform derives from its own ids before the first call
(``skerry-<instance id>``, ``skerry-<instance id>-disk-<disk id>``), so that a call repeated after a crash means the
same thing. *Archives* are contents of disks kept apart from any machine and host, for images and backups, under
names made likewise (``skerry-image-<number>``, ``skerry-backup-<backup id>-<position>``): every host with the same
driver has the same. *Volumes* are disks of no machine (``skerry-volume-<volume id>``), which every host of their
region has; a machine that is on has the volumes it booted with and those plugged in since. A driver imports neither
Django nor anything of ours: plain values in, plain values out.

Every call is idempotent: where its result is there already, it changes nothing and reports success; deleting what
was never made succeeds. A call that takes long only starts the work and returns `Progress`; the same call,
repeated, reports how far the work has come. Calls for one machine may come from several processes at once and are
served one after the other. No call blocks for longer than the driver timeout, and no call sleeps.

docs/drivers.md tells how to write a driver; tests/compute/drivers/test_contract.py holds every driver against this.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from compute.drivers.boot import BootSpec as BootSpec
from compute.drivers.boot import FirewallRule as FirewallRule
from compute.drivers.boot import FirewallRules as FirewallRules
from compute.drivers.boot import FirewallSpec as FirewallSpec


class DriverError(Exception):
    """The hypervisor could not carry out a call now, but may do so later. The text may be shown to customers."""


class Refused(DriverError):
    """The hypervisor will never carry out the call, such as a boot from a missing disk. Retrying is pointless."""


class NoConsole(Refused):
    """The hypervisor has no consoles, for machines that are on or off. Customers may see the text."""


class Unreachable(DriverError):
    """A host does not answer: no connection, or silence until the time limit. The call may succeed later.

    `host` is the host's name, as in `Address.name`; None where the driver cannot tell which host it is. Staff
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
class Address:
    """Where a host is and how to reach it."""

    name: str
    """The platform's name of the host, which errors and faults tell it by."""
    driver: str = "simulated"
    """Which driver speaks with it: a name of the setting DRIVERS."""
    location: str = ""
    """What that driver needs to reach the host and to find its place there, such as ``/var/lib/skerry`` on this
    machine or ``ssh://root@hv1/var/lib/skerry`` on another."""
    shared: str = ""
    """The directory on the host that all hosts of the region share, which has the volumes. Empty: it has none."""
    host_key: str = ""
    """The public key by which a host that is reached by ssh proves itself, such as ``ssh-ed25519 AAAA…``."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the platform's settings tell every driver."""

    timeout: float
    """Seconds that a call may take, reconnecting included."""
    archives: str = ""
    """The directory on the workers' side for archives, which all workers share."""
    conninfo: str = ""
    """The database of the simulated hypervisor."""
    scale: float = 1.0
    """Of the simulated durations; 0 is instant."""
    identity: str = ""
    """The file of the platform's private key for hosts that are reached by ssh. Its directory is this user's alone,
    and may keep connections."""


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """The lasting properties of a machine, which do not change when it boots another profile. Memory in MB."""

    name: str
    memory: int
    vcpus: int
    mac: str


@dataclass(frozen=True, slots=True)
class DiskSpec:
    """A disk to make. `size` in MB.

    With `image`, an official image's id or the name of an archive, the disk is deployed from it; then root's
    password, the keys, the `hostname` and a `script` for the first boot are put into it, those that are given.
    Without them the disk stays as archived. With `copy_of`, a machine and one of its disks, the disk is a copy of
    that one, byte for byte. A driver never keeps the secrets in readable form.
    """

    name: str
    size: int
    filesystem: str
    image: str | None = None
    copy_of: tuple[str, str] | None = None
    root_password: str | None = field(default=None, repr=False)
    authorized_keys: tuple[str, ...] = field(default=(), repr=False)
    hostname: str | None = None
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


@dataclass(frozen=True, slots=True)
class HostImage:
    """An official image that lies on a host. `size` is that of the smallest disk it fits on, in MB."""

    id: str
    label: str
    size: int


@dataclass(frozen=True, slots=True)
class HostReport:
    """What a host can do, as found there. Memory and disk in MB, for machines; None where nothing limits them.

    `vcpus` are virtual cores, of which a host has more than processors: few machines work all the time.
    """

    memory: int | None = None
    vcpus: int | None = None
    disk: int | None = None
    images: tuple[HostImage, ...] | None = None
    """The official images that it can deploy; None for any."""
    architectures: tuple[str, ...] | None = None
    """Those of the kernels that its machines boot, as the catalogue has them (``x86_64``); None for any."""
    volumes: bool = True
    """Whether it has the region's volumes."""
    notes: tuple[str, ...] = ()
    """What else staff should know, a sentence each: how guests are run, what is missing."""


class Ended(StrEnum):
    """Why a machine that is off went off."""

    ASKED = "asked"
    """By `Driver.stop`."""
    GUEST = "guest"
    """The guest powered itself off."""
    KILLED = "killed"
    """Its process ended, and neither the guest nor the platform asked for that."""
    HOST = "host"
    """The host restarted, or lost its power, while the machine was on."""


@dataclass(frozen=True, slots=True)
class FoundMachine:
    """A machine as found on a host. Memory in MB."""

    name: str
    power: Power
    """`ABSENT` where there is a place for it, with disks perhaps, and no definition."""
    disks: frozenset[str] = frozenset()
    """Complete ones."""
    plugged: frozenset[str] = frozenset()
    """The volumes that it has; none while it is off."""
    memory: int | None = None
    vcpus: int | None = None
    """None for both where it is not defined, which may be on nevertheless."""
    ended: Ended | None = None
    """None while it is on, and where it has never been on."""
    arriving: bool = False
    """Whether it is a copy that a move from another host began: the machine is still there, whole."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something half-made, or on its way to or from an archive, at which nobody works on the host."""

    name: str
    """What `Driver.discard` knows it by. It begins with ``shared/`` where all hosts of the region have it in
    reach."""
    machine: str = ""
    disk: str = ""
    """The machine and disk that it was to become, where that can be told."""
    age: float = 0.0
    """Seconds since it was last written."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """All there is on a host at one moment."""

    machines: tuple[FoundMachine, ...] = ()
    volumes: frozenset[str] | None = None
    """The complete volumes that the host has in reach; None on a host without volumes."""
    leftovers: tuple[Leftover, ...] = ()
    aside: frozenset[str] = frozenset()
    """What `Driver.set_aside` and `set_volume_aside` put away, by the names that `discard` knows it by.
    Those of volumes, which every host of the region has in reach, begin with ``shared/``."""


class Console(Protocol):
    """The text console of a machine, in both directions. What was printed before comes first."""

    def fileno(self) -> int:
        """A descriptor that can be read when `read` has something, or the end, and written when `write` takes
        something."""

    def read(self) -> bytes:
        """What is printed, as it comes; ``b""`` at the end, which is also that of the machine's power."""

    def write(self, typed: bytes) -> int:
        """Type something, and return how many bytes of it were taken: 0 while nobody takes any, which the
        descriptor says by when it can be written. It never waits. After the end all count as taken."""

    def close(self) -> None:
        """Leave the console: another one may come."""


class Driver(Protocol):
    """A host's hypervisor. Machine and disk names are as above; all errors are `DriverError`."""

    def prepare(self) -> Progress:
        """Make the host ready for machines: install what runs there, and find out what the host can do.

        Done at once on a host that is ready. `Refused` where it never will be, as it is: the text says what is
        missing and how to get it.
        """

    def inspect(self) -> HostReport:
        """What the host can do at this moment. `DriverError` before it is prepared."""

    def same_volumes(self, other: "Driver") -> bool:
        """Whether this host and the `other` have the same volumes: what one writes there, the other reads."""

    def define(self, spec: MachineSpec) -> None:
        """Make the machine known, powered off and without disks.

        A known machine keeps its power and disks and takes the new memory, vcpus and mac for its next boot.
        """

    def undefine(self, machine: str) -> None:
        """Forget the machine, cutting its power first, and delete every disk it still has."""

    def create_disk(self, machine: str, disk: DiskSpec, source: "Driver | None" = None) -> Progress:
        """Make a disk of this machine, deploying its image or copying another disk if its spec names one.

        `source` is the driver of the host that has the machine to copy from, where that is another host.
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

    def powered_off(self) -> frozenset[str]:
        """The names of the machines on this host that are defined and off: what the watchdog looks at."""

    def usage(self) -> list[Usage]:
        """The usage of each machine on this host that is on."""

    def set_peers(self, underlay: str, peers: Sequence[str], customers: Sequence[str] = ()) -> None:
        """Tell the host its own IPv4 address between hosts, and those of the region's other hosts.

        Its private network and its VLANs reach these hosts from then on, for machines that are on too; with an
        empty `underlay` they end at this host. Packets from the networks `customers` reach nothing on the host but
        its answer to a ping, on whichever interface they arrive. Repeated with the same it changes nothing.
        """

    def inventory(self) -> Inventory:
        """All there is on this host: what the platform's rows are compared with."""

    def set_aside(self, machine: str, disk: str | None = None) -> None:
        """Put a machine that is off away with all its disks, or one of its disks: kept, and in nobody's use.

        Nothing to do where it is not there. `Refused` while the machine is on, or is on and has booted with the
        disk.
        """

    def set_volume_aside(self, volume: str) -> None:
        """The same for a volume. `Refused` while a machine that is on has it."""

    def discard(self, name: str) -> None:
        """Delete a leftover, what was set aside, or the shell of a machine, by its name in the inventory.

        A shell is named as its machine: that is off and has no complete disk, or is `FoundMachine.arriving`.
        Nothing to do where it is not there. `Refused` for anything else; `DriverError` while somebody works at it.
        """

    def receive(self, machine: str, source: "Driver") -> Progress:
        """Take over a machine that is off from the host of `source`, with all its disks.

        Done when it is on this host alone. A machine that is wholly here already is done at once, and what is left
        of a move in the other direction is removed there; `source` may be this host itself. `Refused` where the
        machine is on neither host, or is on, and where `source` is no driver of this kind.
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

    def check_system(self, archive: str) -> None:
        """Check that a password, keys or a host name can be set on a disk that is deployed from an archive.

        Raise `Refused`, with the reason, if they cannot, such as on a disk with partitions. Do nothing if there is
        no complete archive of that name, or if the driver cannot tell. May be called without a host.
        """

    def delete_archive(self, archive: str) -> None:
        """Delete an archive, complete or not."""

    def console(self, machine: str) -> Console:
        """The console of a machine that is on, which has room for one: it stays open for as long as they like.

        `Refused` without the machine and while it is off, `NoConsole` where no machine has one; `DriverError` while
        somebody is at it.
        """

    def ssh_port(self, machine: str) -> int | None:
        """The port of 127.0.0.1, on the host, that leads to the ssh of a machine that is on. None where nothing
        does: its own addresses lead there, or it is off."""
