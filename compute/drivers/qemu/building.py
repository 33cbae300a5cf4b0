"""Building Debian systems: from packages to the file of an official image, as root and without a boot.

`mmdebstrap` or `debootstrap` makes a system without a kernel, because hosts boot their own kernel. This module
makes the system suitable for many machines. docs/guests.md has the details.
"""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from compute.drivers.base import DriverError
from compute.drivers.qemu.agent.commands import run
from compute.drivers.qemu.agent.disks.ext import BLOCK, GROWTH, MB
from compute.drivers.qemu.agent.errors import Failed, details_of

PACKAGES = (
    "ca-certificates", "curl", "dbus", "e2fsprogs", "iproute2", "iputils-ping", "less", "libpam-systemd", "netbase",
    "nftables", "openssh-server", "procps", "systemd-sysv", "udev", "vim-tiny",
)  # fmt: skip
"""The packages in addition to those of every Debian system."""
MAX_SECONDS = 3600.0
SIZE_FACTOR = 1.3
"""The size of the file system as a factor of the files' size. The import of the image shrinks the file system."""

KEYS_UNIT = """\
[Unit]
Description=Generate the OpenSSH host keys of this machine
Before=ssh.service
ConditionPathExists=!/etc/ssh/ssh_host_ed25519_key

[Service]
Type=oneshot
ExecStart=/usr/bin/ssh-keygen -A
"""
UNITS = "etc/systemd/system"
FILES = {
    # otherwise all machines would have the same host keys, and each owner would know them
    f"{UNITS}/ssh-host-keys.service": KEYS_UNIT,
    # root logs in with the password or the keys of the deployment
    "etc/ssh/sshd_config.d/50-root.conf": "PermitRootLogin yes\n",
    # empty: each machine gets its own id at its first boot
    "etc/machine-id": "",
    "etc/hostname": "localhost\n",
    "etc/resolv.conf": "",
}
LINKS = {
    # interfaces keep the kernel's names, with eth0 first, independent of their PCI slots
    "etc/systemd/network/99-default.link": "/dev/null",
    f"{UNITS}/ssh.service.requires/ssh-host-keys.service": f"/{UNITS}/ssh-host-keys.service",
    f"{UNITS}/multi-user.target.wants/systemd-networkd.service": "/lib/systemd/system/systemd-networkd.service",
}
OF_ONE_MACHINE = ("etc/ssh/ssh_host_*", "var/lib/dbus/machine-id", "var/lib/systemd/random-seed")
OF_NO_USE = ("var/cache/apt/archives/*.deb", "var/lib/apt/lists/*_*", "var/log/*.log", "var/log/apt/*")


class NotBuilt(DriverError):
    """The system could not be built. The text is for the operator."""


@dataclass(frozen=True, slots=True)
class System:
    """A system that can be built: its Debian release, and its official image."""

    release: str
    image: str
    label: str


SYSTEMS = {
    "debian-11": System("bullseye", "compute/debian11", "Debian 11"),
    "debian-12": System("bookworm", "compute/debian12", "Debian 12"),
    "debian-13": System("trixie", "compute/debian13", "Debian 13"),
}


def build(system: System, target: Path, mirror: str = "", packages: Sequence[str] = ()) -> None:
    """Build a system into a new file, a raw disk with one ext4 file system.

    `packages` are installed in addition to `PACKAGES`. `mirror` is the URL of Debian's packages; the default is
    that of the building program. Raises `NotBuilt`.
    """
    if os.geteuid():
        raise NotBuilt("The build creates files of other users: run it as root, with sudo.")
    try:
        # in the folder of the target: /tmp may be in memory, and may not allow device files
        with tempfile.TemporaryDirectory(dir=target.absolute().parent) as folder:
            root = Path(folder) / "root"
            run(*_bootstrap(system.release, root, mirror, (*PACKAGES, *packages)), timeout=MAX_SECONDS)
            number = str(uuid.uuid4())
            generalise(root, number)
            _make_disk(root, Path(folder) / "disk", number)
            (Path(folder) / "disk").replace(target)
    except (Failed, OSError) as error:
        why = details_of(error) or str(error)
        raise NotBuilt(f"{system.label} could not be built: {why}") from error


def _bootstrap(release: str, root: Path, mirror: str, packages: Sequence[str]) -> Iterator[str]:
    include, address = f"--include={','.join(packages)}", [mirror] if mirror else []
    if shutil.which("mmdebstrap"):
        yield from ("mmdebstrap", "--mode=root", "--variant=minbase", include, release, str(root), *address)
    elif shutil.which("debootstrap"):
        yield from ("debootstrap", "--variant=minbase", include, release, str(root), *address)
    else:
        raise NotBuilt("mmdebstrap is not installed: apt-get install mmdebstrap debian-archive-keyring.")


def generalise(root: Path, file_system: str) -> None:
    """Remove the traces of one machine from a system, so that many can be deployed from it, and configure it.

    `file_system` is the UUID of the file system that the system will be on.
    """
    for pattern in (*OF_ONE_MACHINE, *OF_NO_USE):
        for path in root.glob(pattern):
            path.unlink()
    for name, content in FILES.items():
        _put(root / name, content)
    _put(root / "etc/fstab", f"UUID={file_system} / ext4 errors=remount-ro 0 1\n/dev/sdb none swap sw,nofail 0 0\n")
    for name, link in LINKS.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_symlink():
            path.symlink_to(link)


def _put(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(content)


def _make_disk(root: Path, disk: Path, file_system: str) -> None:
    used = sum(path.lstat().st_blocks * 512 for path in root.rglob("*"))
    with disk.open("xb") as file:
        file.truncate(-(-int(used * SIZE_FACTOR + 64 * MB) // MB) * MB)
    run(
        "mke2fs", "-q", "-t", "ext4", "-b", str(BLOCK), "-m", "1", "-U", file_system,
        "-E", f"root_owner=0:0,resize={GROWTH}", "-d", str(root), str(disk), timeout=MAX_SECONDS,
    )  # fmt: skip
