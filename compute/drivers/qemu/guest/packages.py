"""Packages of the distribution, which are unpacked but not installed."""

import platform
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from compute.drivers.qemu.agent.commands import CommandFailed, run
from compute.drivers.qemu.agent.errors import Failed

KERNELS = ("linux-image-cloud-amd64", "linux-image-virtual", "linux-image-amd64")
"""Packages that depend on the current kernel: Debian's for virtual machines, Ubuntu's, and Debian's generic one."""
SSH = "dropbear-bin"
SHELL = "busybox-static"


class NoPackages(Failed):
    """The packages for the build are not available."""


class Packages:
    """Packages by name, downloaded once into a folder."""

    def __init__(self, folder: Path):
        if platform.machine() != "x86_64":
            raise NoPackages("The tiny guest runs only on x86_64.")
        for program in ("apt-get", "apt-cache", "dpkg-deb"):
            if shutil.which(program) is None:
                raise NoPackages(
                    f"The tiny guest is built from packages of Debian or Ubuntu, and this system has no {program}."
                )
        self._folder = folder.resolve()
        self._folder.mkdir(parents=True, exist_ok=True)

    def unpack(self, names: Sequence[str], target: Path) -> None:
        """Unpack the packages over each other."""
        for name in names:
            run("dpkg-deb", "-x", str(self._file(name)), str(target))

    def kernel(self) -> list[str]:
        """The packages with the kernel and its modules."""
        for name in KERNELS:
            found = [name]
            for each in found:
                found += [more for more in self.depends(each) if more not in found and _is_kernel(more)]
            if found[1:]:
                return found[1:]
        raise NoPackages("apt-cache finds no kernel. Run apt-get update as root first.")

    def with_libraries(self, name: str) -> list[str]:
        """A package and all the libraries that it depends on."""
        found = [name]
        for each in found:
            found += [more for more in self.depends(each) if more not in found and more.startswith(("lib", "zlib"))]
        return found

    def depends(self, name: str) -> list[str]:
        try:
            output = run("apt-cache", "depends", "--important", name).stdout
        except CommandFailed:
            return []
        return re.findall(r"^\s*\|?(?:Pre)?Depends: ([a-z0-9][a-z0-9.+-]+)", output, re.MULTILINE)

    def _file(self, name: str) -> Path:
        folder = self._folder / name
        found = sorted(folder.glob("*.deb"))
        if not found:
            part = folder.with_name(f"{name}.part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            try:
                run("apt-get", "download", "-q", name, folder=part)
            except CommandFailed as error:
                raise NoPackages(
                    f"{name} cannot be downloaded. Running apt-get update as root may help. {error.details}"
                ) from error
            part.rename(folder)
            found = sorted(folder.glob("*.deb"))
        return found[0]


def _is_kernel(name: str) -> bool:
    return name.startswith(("linux-image-", "linux-modules-"))
