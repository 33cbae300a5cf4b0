"""Where a host keeps things: the directory of the host, and the one that the hosts of a region share.

::

    machines/skerry-7/          a machine: its description, disks, sockets and console
    images/, kernels/           what disks are deployed from, and what is booted
    incoming/, outgoing/        contents of disks that come from elsewhere, or are about to go there
    tasks/                      the long work that is under way
    aside/                      what staff put away: machines and disks that no row knew of
    <shared>/volumes/, tasks/, aside/   the same for the region's volumes

Files appear under their names when they are complete, by rename; until then they end with ``.part``.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from compute.drivers.qemu.agent.errors import Refused

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
MACHINE = re.compile(r"skerry-(0|[1-9][0-9]{0,17})")
"""The names of machines. Tables and interfaces of the host have these names, so no other name is accepted."""
IMAGE = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}/[a-z0-9][a-z0-9_.-]{0,62}")


def checked(name: str) -> str:
    """The name of a disk, volume or archive. Raises `Refused` for what could leave its directory."""
    if not NAME.fullmatch(name):
        raise Refused(f"{name!r:.100} is no name.")
    return name


def checked_machine(machine: str) -> str:
    """The name of a machine. Raises `Refused` for a name that the platform never gives to a machine."""
    if not MACHINE.fullmatch(machine):
        raise Refused(f"{machine!r:.100} is no machine.")
    return machine


@dataclass(frozen=True, slots=True)
class Store:
    """The directories of a host. `shared` is None on a host without volumes."""

    root: Path
    shared: Path | None = None

    def machine(self, machine: str) -> Path:
        return self.root / "machines" / checked_machine(machine)

    def disk(self, machine: str, disk: str) -> Path:
        return self.machine(machine) / "disks" / f"{checked(disk)}.raw"

    def volume(self, volume: str) -> Path:
        """Raises `Refused` on a host without volumes."""
        if self.shared is None:
            raise Refused("This host has no volumes.")
        return self.shared / "volumes" / f"{checked(volume)}.raw"

    def image(self, image: str) -> Path:
        """The raw file of an official image, by its id, such as ``compute/debian12``."""
        if not IMAGE.fullmatch(image):
            raise Refused(f"{image!r:.100} is no image.")
        return self.root / "images" / f"{image.replace('/', '~')}.raw"

    def incoming(self, archive: str) -> Path:
        """The raw file of an archive's content that came here to be deployed."""
        return self.root / "incoming" / f"{checked(archive)}.raw"

    def outgoing(self, archive: str) -> Path:
        """The raw file of a disk's content that is to become an archive elsewhere."""
        return self.root / "outgoing" / f"{checked(archive)}.raw"

    def tasks(self) -> Path:
        return self.root / "tasks"

    def shared_tasks(self) -> Path:
        """Where the hosts of a region tell each other of their work at volumes. Raises `Refused` as `volume`."""
        if self.shared is None:
            raise Refused("This host has no volumes.")
        return self.shared / "tasks"

    def kernels(self) -> Path:
        return self.root / "kernels"
