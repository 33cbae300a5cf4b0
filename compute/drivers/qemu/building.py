"""Building systems of Debian: from packages to the file of an official image, as root and without booting any.

What `mmdebstrap`, or `debootstrap`, makes is a system without a kernel, which is what hosts deploy: they bring the
kernel. Here it becomes one that many machines are made of (docs/guests.md says what that takes).
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
from compute.drivers.qemu.agent.errors import Failed, details_of
from compute.drivers.qemu.agent.ext import BLOCK, GROWTH, MB

PACKAGES = (
    "ca-certificates", "curl", "dbus", "e2fsprogs", "iproute2", "iputils-ping", "less", "libpam-systemd", "netbase",
    "nftables", "openssh-server", "procps", "systemd-sysv", "udev", "vim-tiny",
)  # fmt: skip
"""Beside those that every system of Debian has."""
MOST_SECONDS = 3600.0
ROOM = 1.3
"""Size of the file system for each byte of files; what is not needed is taken off when the image is imported."""

KEYS_UNIT = """\
[Unit]
Description=Keys of this machine's own for OpenSSH
Before=ssh.service
ConditionPathExists=!/etc/ssh/ssh_host_ed25519_key

[Service]
Type=oneshot
ExecStart=/usr/bin/ssh-keygen -A
"""
UNITS = "etc/systemd/system"
FILES = {
    # the same in all machines otherwise: whoever had one would know the keys of all
    f"{UNITS}/ssh-host-keys.service": KEYS_UNIT,
    # who deploys a machine gets in as root, by the password or the keys that were given with it
    "etc/ssh/sshd_config.d/50-root.conf": "PermitRootLogin yes\n",
    # empty: each machine gets a number of its own when it boots
    "etc/machine-id": "",
    "etc/hostname": "localhost\n",
    "etc/resolv.conf": "",
}
LINKS = {
    # interfaces are called as the kernel does, eth0 the first, wherever QEMU puts them
    "etc/systemd/network/99-default.link": "/dev/null",
    f"{UNITS}/ssh.service.requires/ssh-host-keys.service": f"/{UNITS}/ssh-host-keys.service",
    f"{UNITS}/multi-user.target.wants/systemd-networkd.service": "/lib/systemd/system/systemd-networkd.service",
}
OF_ONE_MACHINE = ("etc/ssh/ssh_host_*", "var/lib/dbus/machine-id", "var/lib/systemd/random-seed")
OF_NO_USE = ("var/cache/apt/archives/*.deb", "var/lib/apt/lists/*_*", "var/log/*.log", "var/log/apt/*")


class NotBuilt(DriverError):
    """The system could not be built; the text is the operator's."""


@dataclass(frozen=True, slots=True)
class System:
    """A system that can be built: its release, and the official image that it becomes."""

    release: str
    image: str
    label: str


SYSTEMS = {
    "debian-11": System("bullseye", "compute/debian11", "Debian 11"),
    "debian-12": System("bookworm", "compute/debian12", "Debian 12"),
    "debian-13": System("trixie", "compute/debian13", "Debian 13"),
}


def build(system: System, target: Path, mirror: str = "", packages: Sequence[str] = ()) -> None:
    """Build a system into a new file, a raw disk of one ext4, with more `packages` beside `PACKAGES`.

    `mirror` is the address of Debian's packages; without one the program that takes them knows its own. Raises
    `NotBuilt`.
    """
    if os.geteuid():
        raise NotBuilt("Files of other users are made here: build it as root, by sudo.")
    try:
        # beside the file: what is below /tmp may be in memory, and without devices
        with tempfile.TemporaryDirectory(dir=target.absolute().parent) as folder:
            root = Path(folder) / "root"
            run(*_bootstrap(system.release, root, mirror, (*PACKAGES, *packages)), timeout=MOST_SECONDS)
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
        raise NotBuilt("There is no mmdebstrap here: apt-get install mmdebstrap debian-archive-keyring.")


def generalise(root: Path, file_system: str) -> None:
    """Make a system in a directory one of which many machines are made, on a file system with this UUID."""
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
        file.truncate(-(-int(used * ROOM + 64 * MB) // MB) * MB)
    run(
        "mke2fs", "-q", "-t", "ext4", "-b", str(BLOCK), "-m", "1", "-U", file_system,
        "-E", f"root_owner=0:0,resize={GROWTH}", "-d", str(root), str(disk), timeout=MOST_SECONDS,
    )  # fmt: skip
