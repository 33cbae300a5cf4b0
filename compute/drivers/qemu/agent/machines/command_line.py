"""The arguments of QEMU for a machine and its boot.

QEMU is started in the machine's directory. Sockets and the machine's own files have relative names, because the
kernel limits names of sockets to 107 bytes. Arguments with names from outside are JSON, where a comma in a name
separates nothing.
"""

import json
import os
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv6Interface
from pathlib import Path
from typing import Any

from compute.drivers.boot import BootSpec
from compute.drivers.qemu.agent.checks import ipv6
from compute.drivers.qemu.agent.errors import Refused
from compute.drivers.qemu.agent.networks.nics import nics
from compute.drivers.qemu.agent.settings import Settings

SLOTS = ("sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg", "sdh")
"""The slots in the order in which a guest finds them: by their numbers on the SCSI bus."""
MAX_DRIVES = 64
"""The maximum number of disks and volumes of a running machine, including volumes plugged in since the boot. All
are units of one virtio-scsi controller. The controller supports 16,384 units, and a unit needs no PCI slot."""

DISK_KERNELS = {"compute/grub2", "compute/grub-legacy", "compute/direct-disk"}
HOST_KERNEL = re.compile(r"compute/(latest-64bit|\d+\.\d+\.\d+-x86_64-compute\d+)")
DEFAULT_KERNEL = "default"
RUN_LEVELS = {"default": "", "single": "single", "binbash": "init=/bin/bash"}

ASSUMED = "no_timer_check"
"""A kernel option that skips the test of the timer. The test counts ticks for a moment. If an emulated processor
gets no time from its host in that moment, the test and the boot fail."""
SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
MB = 1_000_000
LIMITS = "limits"
"""The throttle group of QEMU for all disks and volumes of a machine, which share one limit."""
NAMES = uuid.UUID("5a0c9f5e-37d7-4b0c-9a43-6f3c8e1f3b52")


@dataclass(frozen=True, slots=True)
class Machine:
    """The definition of a machine. `memory` in MB."""

    name: str
    memory: int
    vcpus: int
    mac: str


@dataclass(frozen=True, slots=True)
class Drive:
    """A disk or a volume as the guest sees it. Only a volume has a `label`."""

    name: str
    file: str
    lun: int
    label: str | None = None

    @property
    def node(self) -> str:
        """The name of the block node, from the number of the unit: QEMU limits such names to 31 bytes."""
        return f"lun{self.lun}"

    def block_device(self) -> dict[str, Any]:
        return {
            "driver": "raw",
            "node-name": self.node,
            "discard": "unmap",
            "file": {"driver": "file", "filename": self.file, "discard": "unmap"},
        }

    def device(self) -> dict[str, Any]:
        """The device, with the drive's own name as its id.

        udev links a volume as ``/dev/disk/by-id/scsi-0Skerry_Volume_<label>``, from the vendor, the product and the
        identifier of page 0x83.
        """
        shown = {"driver": "scsi-hd", "bus": "scsi.0", "lun": self.lun, "id": self.name, "drive": self.node}
        if self.label is not None:
            return {**shown, "vendor": "Skerry", "product": "Volume", "device_id": self.label}
        return {**shown, "vendor": "Skerry", "product": "Disk", "device_id": self.name}


def kernel_for(kernel: str, boots_itself: bool = True) -> str | None:
    """The directory below ``kernels`` for a kernel of the catalogue; None boots the first disk.

    If the disk `boots_itself`, which means that it has a boot sector, its own GRUB is used. Disks of the platform's
    images have no boot sector: the host's kernel is used for them. Raises `Refused` for a kernel that machines
    cannot boot.
    """
    if kernel in DISK_KERNELS:
        return None if boots_itself or kernel == "compute/direct-disk" else DEFAULT_KERNEL
    if HOST_KERNEL.fullmatch(kernel):
        return DEFAULT_KERNEL
    raise Refused(f"Machines of this host do not boot the kernel {kernel}: it is not for x86_64 with KVM.")


def boots_itself(file: Path) -> bool:
    """Tell whether a disk has a boot sector."""
    with file.open("rb") as disk:
        disk.seek(510)
        return disk.read(2) == b"\x55\xaa"


def arguments(
    machine: Machine,
    boot: BootSpec,
    drives: Sequence[Drive],
    settings: Settings,
    accel: str,
    kernel: Path | None,
    port: int | None,
) -> list[str]:
    """The command that runs the machine.

    `kernel` is a directory with ``vmlinuz`` and ``initrd``. The `port` of 127.0.0.1 leads to the guest's ssh.
    """
    found = [settings.qemu, "-name", machine.name, "-uuid", str(uuid.uuid5(NAMES, machine.name))]
    found += ["-nodefaults", "-no-user-config", *confinement(settings), "-display", "none"]
    found += ["-machine", settings.platform, *accelerator(accel)]
    found += ["-m", f"{boot.memory}M", "-smp", str(machine.vcpus)]
    found += ["-object", "rng-random,id=random,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=random"]
    found += ["-device", "virtio-scsi-pci,id=scsi"]
    for position, drive in enumerate(drives):
        bootable = {"bootindex": 1} if position == 0 and kernel is None else {}
        found += ["-blockdev", json.dumps(drive.block_device())]
        found += ["-device", json.dumps({**drive.device(), **bootable})]
    found += _network(machine, boot, settings, port)
    found += ["-chardev", "socket,id=console,path=console,server=on,wait=off,logfile=console.log,logappend=on"]
    found += ["-serial", "chardev:console"]
    for name in ("qmp", "ask", "watch"):
        found += ["-qmp", f"unix:{name},server=on,wait=off"]
    if kernel is not None:
        found += ["-kernel", str(kernel / "vmlinuz"), "-initrd", str(kernel / "initrd")]
        found += ["-append", _kernel_line(boot)]
    return found


def limits(settings: Settings) -> dict[str, Any] | None:
    """The arguments of ``block_set_io_throttle`` for each disk and volume of a machine; None if there is no limit.

    All disks and volumes of the machine share the limit, which applies to devices. A throttle in the block nodes
    could be part of the command line, but it counts trimmed bytes as written bytes. With such a throttle, making a
    file system of 1 TB would take half an hour.
    """
    if not settings.disk_iops and not settings.disk_rate:
        return None
    sides = dict.fromkeys(("bps_rd", "bps_wr", "iops_rd", "iops_wr"), 0)
    return {"group": LIMITS, "iops": settings.disk_iops, "bps": settings.disk_rate * MB, **sides}


def confinement(settings: Settings) -> list[str]:
    """The arguments by which QEMU drops privileges.

    To run as another user, QEMU needs the system calls that change the user. They are harmless afterwards, because
    QEMU may not start programs.
    """
    if settings.user and os.geteuid() == 0:
        return ["-sandbox", SANDBOX.replace("elevateprivileges=deny,", ""), "-runas", settings.user]
    return ["-sandbox", SANDBOX]


def accelerator(accel: str) -> list[str]:
    """The arguments for ``kvm``, or for ``tcg``, which emulates."""
    if accel == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    # a small guest does not need the default of 1 GB for translated code
    return ["-accel", "tcg,thread=multi,tb-size=64", "-cpu", "max,la57=off"]


def _network(machine: Machine, boot: BootSpec, settings: Settings, port: int | None) -> list[str]:
    if settings.networking:
        return _taps(machine, boot)
    # without romfile: the boot ROM is in another package, and no machine boots from the network
    device = {"driver": "virtio-net-pci", "netdev": "public", "id": "public-nic", "mac": machine.mac, "romfile": ""}
    return ["-netdev", _public(boot, port), "-device", json.dumps(device)]


def _taps(machine: Machine, boot: BootSpec) -> list[str]:
    """The interfaces that the host has made for the machine."""
    found = []
    for nic in nics(machine.name, machine.mac, boot.interfaces):
        name = "public" if nic.vlan is None else f"vlan{nic.vlan}"
        found += ["-netdev", option("tap", id=name, ifname=nic.tap, script="no", downscript="no")]
        device = {"driver": "virtio-net-pci", "netdev": name, "id": f"{name}-nic", "mac": nic.mac, "romfile": ""}
        found += ["-device", json.dumps(device)]
    return found


def _public(boot: BootSpec, port: int | None) -> str:
    options: dict[str, Any] = {"id": "public"}
    if boot.ipv4:
        own, gateway = addresses(boot.ipv4[0])
        # DHCP gives the machine its own address as well
        options |= {"net": own.network, "host": gateway.ip, "dns": resolver(boot.ipv4[0]), "dhcpstart": own.ip}
    if boot.ipv6:
        network = IPv6Interface(f"{ipv6(boot.ipv6)}/64").network
        options |= {"ipv6-net": network, "ipv6-host": network[1], "ipv6-dns": network[2]}
    if port is not None:
        guest = addresses(boot.ipv4[0])[0].ip if boot.ipv4 else ""
        options["hostfwd"] = f"tcp:127.0.0.1:{port}-{guest}:22"
    return option("user", **options)


def option(kind: str, **values: Any) -> str:
    """Options in QEMU's own form. A comma in a value is doubled, so that it separates nothing.

    ``-netdev`` takes JSON only from QEMU 7.2 on.
    """
    return ",".join([kind, *(f"{name}={str(value).replace(',', ',,')}" for name, value in values.items())])


def addresses(address: str) -> tuple[IPv4Interface, IPv4Interface]:
    """A machine's own address and its gateway.

    The gateway is the first address of the network, or the second if the first is the machine's own.
    """
    own = IPv4Interface(f"{address}/24")
    first = own.network[1]
    return own, IPv4Interface(f"{first if first != own.ip else own.network[2]}/24")


def resolver(address: str) -> IPv4Address:
    """The address of the name server in QEMU's user-mode network, which forwards to the host's name servers."""
    own, gateway = addresses(address)
    last = (own.network[-2], own.network[-3], own.network[-4])
    return next(each for each in last if each not in (own.ip, gateway.ip))


def networks(machine: Machine, boot: BootSpec) -> list[dict[str, Any]] | None:
    """The network of a guest, as `systems.Network` reads it; None if the owner configures the network."""
    if not boot.ipv4 or not boot.helpers.get("network", True):
        return None
    own, gateway = addresses(boot.ipv4[0])
    found = {"name": "eth0", "mac": machine.mac, "addresses": [str(own)], "gateways": [str(gateway.ip)]}
    found["resolvers"] = [str(resolver(boot.ipv4[0]))]
    return [{**found, "router_advertisements": boot.ipv6 is not None}]


def root_disk(boot: BootSpec, drives: Sequence[Drive]) -> Drive | None:
    """The disk with the system: the disk in the root device's slot, or the first disk.

    None if it is a volume: the platform does not write to volumes.
    """
    slot = boot.root_device.removeprefix("/dev/")
    name = boot.devices.get(slot, drives[0].name if drives else None)
    return next((each for each in drives if each.name == name and each.label is None), None)


def _kernel_line(boot: BootSpec) -> str:
    words = ["console=ttyS0", ASSUMED]
    if boot.rescue:
        words.append("rescue")
    else:
        words += [f"root={_word(boot.root_device)}", "rw", RUN_LEVELS.get(boot.run_level, "")]
    return " ".join(filter(None, words))


def _word(root_device: str) -> str:
    """Check that a customer's root device is a single word of the kernel's command line."""
    if not re.fullmatch(r"[A-Za-z0-9/=_.:-]{1,100}", root_device):
        raise Refused(f"{root_device!r:.100} is not a device to boot from.")
    return root_device
