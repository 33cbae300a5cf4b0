"""The interface of the platform to a hypervisor.

A driver serves one host: `Address` says how to reach the host, and the calls concern the machines there. A driver
imports neither Django nor anything of ours: plain values in, plain values out.

The platform derives the *names* of machines and disks from its own ids before the first call:
``skerry-<instance id>`` and ``skerry-<instance id>-disk-<disk id>``. So a call means the same thing when it is
repeated after a crash.

*Archives* are contents of disks for images and backups, stored apart from machines and hosts
(``skerry-image-<number>``, ``skerry-backup-<backup id>-<position>``). All hosts with the same driver have the same
archives. *Volumes* are disks that belong to no machine (``skerry-volume-<volume id>``). All hosts of a region have
the region's volumes. A machine that is on has the volumes it booted with and the volumes plugged in since.

Every call is idempotent. If its result exists already, the call changes nothing and reports success. Deleting
something that does not exist succeeds. A long call only starts the work and returns `Progress`. The same call,
repeated, reports the progress. Several processes may make calls for one machine at the same time: the driver serves
these calls one after the other. No call blocks for longer than the driver timeout, and no call sleeps.

docs/driver-guide.md explains how to write a driver. tests/compute/drivers/test_contract.py tests every driver
against this interface.
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

    `host` is the host's name, as in `Address.name`; None if the driver does not know which host it is. Staff
    see the host as down from the first such error until the host answers a call of the watchdog. An error that a
    host itself returns is a plain `DriverError`.
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
    """The progress of a long call. `percent` is 0 to 100. `wait` is the time until the next poll, in seconds.

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
    """The platform's name for the host, used in errors and faults."""
    driver: str = "simulated"
    """The driver for the host: a name from the setting DRIVERS."""
    location: str = ""
    """The connection and the directory that the driver uses, such as ``/var/lib/skerry`` on this machine or
    ``ssh://root@hv1/var/lib/skerry`` on another."""
    shared: str = ""
    """The directory with the volumes, which all hosts of the region share. Empty: the host has no volumes."""
    host_key: str = ""
    """The public ssh host key, such as ``ssh-ed25519 AAAA…``, for a host that is reached by ssh."""


@dataclass(frozen=True, slots=True)
class Options:
    """The platform's settings for all drivers."""

    timeout: float
    """Seconds that a call may take, including reconnecting."""
    archives: str = ""
    """The directory for archives on the workers' machines, which all workers share."""
    conninfo: str = ""
    """The database of the simulated hypervisor."""
    scale: float = 1.0
    """The factor for simulated durations; 0 is instant."""
    identity: str = ""
    """The file with the platform's private key for hosts that are reached by ssh. Only the user who runs the
    workers may read its directory, which also contains the sockets of shared connections."""


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """The properties of a machine that stay the same when it boots another profile. Memory in MB."""

    name: str
    memory: int
    vcpus: int
    mac: str


@dataclass(frozen=True, slots=True)
class DiskSpec:
    """A disk to make. `size` in MB.

    With `image`, an official image's id or the name of an archive, the disk is deployed from that image. Then the
    driver writes the given fields into the system: the root password, the keys, the `hostname`, and the `script`
    for the first boot. Without these fields the disk stays as archived. With `copy_of`, a machine and one of its
    disks, the disk is a byte-for-byte copy. A driver never stores the secrets in readable form.
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
    """A volume to make: empty, or a byte-for-byte copy of the volume `copy_of`. `size` in GB."""

    name: str
    region: str
    size: int
    hardware: str
    copy_of: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage counters of a machine. They only grow, but a boot or a move may reset them to 0.

    `cpu` is in seconds of one core. `io` and `swap` are blocks read and written: swap disks count as `swap` only,
    and other disks as `io`. The other counters are bytes on the public and private networks.
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
    """An official image on a host. `size` is the size of the smallest disk that the image fits on, in MB."""

    id: str
    label: str
    size: int


@dataclass(frozen=True, slots=True)
class HostReport:
    """The capacity of a host. `memory` and `disk` are in MB, for machines; None means no limit.

    `vcpus` are virtual cores. A host has more of them than processors, because few machines are busy all the time.
    """

    memory: int | None = None
    vcpus: int | None = None
    disk: int | None = None
    images: tuple[HostImage, ...] | None = None
    """The official images that the host can deploy; None for any."""
    architectures: tuple[str, ...] | None = None
    """The architectures of kernels that the host boots, with the catalogue's names (``x86_64``); None for any."""
    volumes: bool = True
    """Whether the host has the region's volumes."""
    notes: tuple[str, ...] = ()
    """Other facts for staff, one sentence each: how guests run, what is missing."""


class Ended(StrEnum):
    """The reason why a machine went off."""

    ASKED = "asked"
    """The platform called `Driver.stop`."""
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
    """`ABSENT` if the machine has a directory, perhaps with disks, but no definition."""
    disks: frozenset[str] = frozenset()
    """The complete disks."""
    plugged: frozenset[str] = frozenset()
    """The volumes that the machine has; none while it is off."""
    memory: int | None = None
    vcpus: int | None = None
    """Like `memory`, None if the machine is not defined. Such a machine may still be on."""
    ended: Ended | None = None
    """None while the machine is on, and if it was never on."""
    arriving: bool = False
    """Whether a move from another host began this copy. The other host still has the whole machine."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """An incomplete disk or volume, or content on its way to or from an archive, on which no process works."""

    name: str
    """The name for `Driver.discard`. It begins with ``shared/`` if all hosts of the region reach the leftover."""
    machine: str = ""
    disk: str = ""
    """The machine and disk that the leftover was meant for, if known."""
    age: float = 0.0
    """Seconds since the last write."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything on a host at one moment."""

    machines: tuple[FoundMachine, ...] = ()
    volumes: frozenset[str] | None = None
    """The complete volumes that the host can reach; None on a host without volumes."""
    leftovers: tuple[Leftover, ...] = ()
    aside: frozenset[str] = frozenset()
    """The names, for `discard`, of everything that `Driver.set_aside` and `set_volume_aside` put away.
    Names of volumes begin with ``shared/``: every host of the region can reach them."""


class Console(Protocol):
    """The text console of a machine, in both directions. Earlier output comes first."""

    def fileno(self) -> int:
        """A descriptor for polling: readable when `read` returns at once, writable when `write` takes bytes."""

    def read(self) -> bytes:
        """Return new output. ``b""`` means the end, which also comes when the machine powers off."""

    def write(self, typed: bytes) -> int:
        """Type bytes, without waiting, and return how many were taken.

        If it returns 0, wait until the descriptor is writable. After the end, all bytes count as taken.
        """

    def close(self) -> None:
        """Leave the console, so that somebody else can use it."""


class Driver(Protocol):
    """A host's hypervisor. Machine and disk names are as above; all errors are `DriverError`."""

    def prepare(self) -> Progress:
        """Make the host ready for machines: install the driver's software there, and check the host.

        Done at once if the host is ready. `Refused` if the host lacks something: the text says what is missing and
        how to get it.
        """

    def inspect(self) -> HostReport:
        """Return the current capacity of the host. `DriverError` before the host is prepared."""

    def same_volumes(self, other: "Driver") -> bool:
        """Tell whether this host and the `other` share their volumes: each reads what the other writes."""

    def define(self, spec: MachineSpec) -> None:
        """Define the machine, powered off and without disks.

        A machine that is defined already keeps its power and disks, and uses the new memory, vcpus and mac from its
        next boot on.
        """

    def undefine(self, machine: str) -> None:
        """Cut the machine's power, then delete its definition and all its disks."""

    def create_disk(self, machine: str, disk: DiskSpec, source: "Driver | None" = None) -> Progress:
        """Make a disk of this machine: empty, deployed from an image, or copied from another disk.

        `source` is the driver of the host that has the disk to copy, if that is another host. `Refused` if the
        machine, the archive or the disk to copy is missing, or the content does not fit.
        """

    def resize_disk(self, machine: str, disk: str, size: int) -> Progress:
        """Resize a disk with its filesystem to `size` MB.

        `Refused` if the disk is missing, if a machine that is on booted with it, or if its files need more space.
        """

    def set_password(self, machine: str, disk: str, password: str) -> None:
        """Set root's password in the system on a disk.

        `Refused` if the disk is missing or contains no system, or if a machine that is on booted with it.
        """

    def delete_disk(self, machine: str, disk: str) -> None:
        """Delete a disk, complete or not. `DriverError` if a machine that is on booted with it."""

    def disks(self, machine: str) -> frozenset[str]:
        """The names of the machine's disks, including incomplete ones."""

    def start(self, machine: str, boot: BootSpec) -> Progress:
        """Power the machine on. Done when the guest has booted.

        A machine that is on stays as it is. A machine that is shutting down finishes, then boots. `Refused` in
        these cases:

        - The machine, or a disk or volume of `boot`, is missing.
        - `boot` has no disk or volume, and is not a rescue.
        - Another machine that is on has one of the volumes.

        `DriverError` while a disk or volume is incomplete.
        """

    def stop(self, machine: str) -> Progress:
        """Ask the guest to shut down, and cut the power if it does not. Done when the power is off, or if there is
        no such machine."""

    def set_firewall(self, machine: str, firewall: FirewallSpec) -> int:
        """Filter a machine's traffic by `firewall`, whether the machine is on or off.

        The packet filter survives moves of the machine and restarts of its host. If the host has a newer version,
        that one stays. Returns the version in force afterwards; 0 if there is no such machine.
        """

    def power(self, machine: str) -> Power:
        """Return the power state of the machine. It is on from the start of its boot to the end of its shutdown."""

    def powered_off(self) -> frozenset[str]:
        """The names of the machines on this host that are defined and off. The watchdog polls this."""

    def usage(self) -> list[Usage]:
        """The usage of each machine on this host that is on."""

    def set_peers(self, underlay: str, peers: Sequence[str], customers: Sequence[str] = ()) -> None:
        """Set the host's own IPv4 address between hosts, and the addresses of the region's other hosts.

        From then on the private network and the VLANs reach these hosts, also for machines that are on. If
        `underlay` is empty, these networks end at this host. From the networks `customers`, only pings reach the
        host itself, on every interface. A repeated call with the same values changes nothing.
        """

    def inventory(self) -> Inventory:
        """Everything on this host, for the comparison with the platform's rows."""

    def set_aside(self, machine: str, disk: str | None = None) -> None:
        """Put away a machine that is off with all its disks, or one of its disks. It is kept, but no longer used.

        Does nothing if the machine or disk is missing. `Refused` while the machine is on, or, for a disk, if the
        machine is on and booted with the disk.
        """

    def set_volume_aside(self, volume: str) -> None:
        """Put away a volume, like `set_aside`. `Refused` while a machine that is on has the volume."""

    def discard(self, name: str) -> None:
        """Delete a leftover, something that was set aside, or a shell of a machine, by its name in the inventory.

        A shell has the name of its machine. It is a machine that is off and has no complete disk, or one that is
        `FoundMachine.arriving`. Does nothing if there is nothing of this name. `Refused` for anything else.
        `DriverError` while a process works on it.
        """

    def receive(self, machine: str, source: "Driver") -> Progress:
        """Take over a machine that is off, with all its disks, from the host of `source`.

        Done when only this host has the machine. If the whole machine is here already, the call is done at once. It
        also removes the remains of a move in the other direction from the other host. `source` may be this host.
        `Refused` if neither host has the machine, if the machine is on, or if `source` is another kind of driver.
        """

    def save_disk(self, machine: str, disk: str, archive: str) -> Progress:
        """Save the current content of a disk, in use or not, as an archive. `Refused` if the disk is missing.

        A complete archive of that name stays as it is.
        """

    def archive_upload(self, archive: str, path: str, size: int) -> Progress:
        """Make an archive from the raw disk image in the gzip file at `path`. `Refused` if the file is gone.

        The image unpacks to `size` MB. A worker has measured the size, because the trailer of a gzip file is not
        reliable.
        """

    def create_volume(self, volume: VolumeSpec) -> Progress:
        """Make a volume: empty, or a copy of a volume, plugged in or not. `Refused` if the original is missing."""

    def resize_volume(self, volume: str, size: int) -> Progress:
        """Resize a volume to `size` GB, plugged in or not.

        `Refused` if the volume is missing or larger than `size`: a volume only grows.
        """

    def volume_size(self, volume: str) -> int | None:
        """The size of a volume in GB, complete or not; None if there is no such volume."""

    def delete_volume(self, volume: str) -> None:
        """Delete a volume, complete or not. `DriverError` while a machine that is on has the volume."""

    def plug(self, machine: str, volume: str, label: str) -> None:
        """Plug a volume into a machine that is on, until its power is off. The guest finds the volume by its label.

        A machine that is off stays as it is. `Refused` if the machine or the volume is missing, or if another
        machine that is on has the volume. `DriverError` while the volume is incomplete.
        """

    def unplug(self, machine: str, volume: str) -> None:
        """Unplug a volume from a machine, whether or not the machine booted with it."""

    def archive_size(self, archive: str) -> int | None:
        """The size of an archive in MB; None if there is no complete archive of that name.

        The size is 0 for an upload that unpacks to nothing, and at least 1 for all other archives.
        """

    def check_system(self, archive: str) -> None:
        """Check that a password, keys or a host name can be set on a disk that is deployed from an archive.

        Raise `Refused`, with the reason, if they cannot, such as on a disk with partitions. Do nothing if there is
        no complete archive of that name, or if the driver cannot tell. May be called without a host.
        """

    def delete_archive(self, archive: str) -> None:
        """Delete an archive, complete or not."""

    def console(self, machine: str) -> Console:
        """Open the console of a machine that is on. Only one person can use it at a time, without a time limit.

        `Refused` if the machine is missing or off. `NoConsole` if the hypervisor has no consoles. `DriverError`
        while somebody else uses the console.
        """

    def ssh_port(self, machine: str) -> int | None:
        """The port of 127.0.0.1, on the host, that leads to the ssh server of a machine that is on.

        None if the machine is off, or if its own addresses lead there.
        """
