"""The directory of a host, and the directory that the hosts of a region share.

- ``machines/skerry-7/``: a machine, with its description, disks, sockets and console.
- ``images/``, ``kernels/``: images for deployments, and kernels to boot.
- ``incoming/``, ``outgoing/``: contents of disks that arrive from elsewhere, or will be copied there.
- ``tasks/``: running tasks.
- ``aside/``: machines and disks without a row in the platform's database, which staff set aside.
- ``<shared>/volumes/``, ``<shared>/tasks/``, ``<shared>/aside/``: the same for the region's volumes.

A file has the suffix ``.part`` until it is complete. Then it is renamed to its final name.
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
    """Check the name of a disk, volume or archive. Raises `Refused` for a name that could leave its directory."""
    if not NAME.fullmatch(name):
        raise Refused(f"{name!r:.100} is not a valid name.")
    return name


def checked_machine(machine: str) -> str:
    """Check the name of a machine. Raises `Refused` for a name that the platform never gives to a machine."""
    if not MACHINE.fullmatch(machine):
        raise Refused(f"{machine!r:.100} is not a valid machine name.")
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
        """The raw file of a volume. Raises `Refused` on a host without volumes."""
        if self.shared is None:
            raise Refused("This host has no volumes.")
        return self.shared / "volumes" / f"{checked(volume)}.raw"

    def image(self, image: str) -> Path:
        """The raw file of an official image, by its id, such as ``compute/debian12``."""
        if not IMAGE.fullmatch(image):
            raise Refused(f"{image!r:.100} is not a valid image name.")
        return self.root / "images" / f"{image.replace('/', '~')}.raw"

    def incoming(self, archive: str) -> Path:
        """The raw file of an archive's content that arrived for a deployment."""
        return self.root / "incoming" / f"{checked(archive)}.raw"

    def outgoing(self, archive: str) -> Path:
        """The raw file of a disk's content that will become an archive elsewhere."""
        return self.root / "outgoing" / f"{checked(archive)}.raw"

    def tasks(self) -> Path:
        return self.root / "tasks"

    def shared_tasks(self) -> Path:
        """The directory with tasks of all hosts of the region on volumes. Raises `Refused` like `volume`."""
        if self.shared is None:
            raise Refused("This host has no volumes.")
        return self.shared / "tasks"

    def kernels(self) -> Path:
        return self.root / "kernels"
