"""README's two commands on one release of Debian: the commands, and the conditions to pass."""

# ruff: noqa: T201  (the progress is for people)

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.systems.chroot import Chroot, Impossible

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("debootstrap", "unshare", "setpriv", "chroot", "git")
START_SECONDS = 1800
"""Seconds for `make serve` to install its packages and to start."""
VERSION = r"""
. /etc/os-release
echo "$PRETTY_NAME, $({python} --version)"
"""
INSTANCE = r"""
set -e
PORT={port} . docs/shell.sh
ID=$(api $A/compute/instances -d '{{"region": "us-east", "type": "g6-nanode-1", "image": "compute/debian11",
    "root_pass": "correct-horse-7-battery"}}' | field id)
until_status $A/compute/instances/$ID running
"""
RESULT = re.compile(r"^=* ?((?:\d+ \w+(?:, )?)+) in [\d.]+s.*$", re.MULTILINE)


class Failed(Exception):
    """A command failed on a system. The text says which."""


def check_machine() -> None:
    """Raise `Impossible` if this machine cannot make systems."""
    if os.geteuid():
        raise Impossible("Systems are made as root: sudo make test-systems")
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        raise Impossible(f"{', '.join(lacking)} is missing: apt-get install debootstrap git util-linux")


def find_mirror() -> str:
    """Return the address from which apt takes Debian's packages here. Raises `Impossible`."""
    shown = "$(SITE) $(ORIGIN) $(CODENAME) $(COMPONENT)"
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", shown, "Identifier: Packages"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return mirror_of(listed.stdout)


def mirror_of(targets: str) -> str:
    """Return the site of a whole release of Debian, of apt's index targets. Raises `Impossible`."""
    for line in targets.splitlines():
        match line.split():
            case [site, "Debian", codename, "main"] if "-" not in codename:  # not security, nor updates
                return site
    raise Impossible("apt knows no mirror of Debian here: run apt-get update, or name one with --mirror")


def run(suite: str, mirror: str, folder: Path, arguments: argparse.Namespace) -> tuple[bool, str]:
    """Run both commands on one release. Returns whether they passed, and a line with the result."""
    log, chroot = folder / f"{suite}.log", Chroot(folder / suite, folder / "cache")
    print(f"{suite}: debootstrap; the output is in {log}", flush=True)
    try:
        with log.open("wb") as output:
            chroot.build(suite, mirror, arguments.package, output.fileno())
            chroot.clone(ROOT)
            found = call(chroot, "its versions", VERSION.format(python=arguments.python), output)
            return True, f"{found}: {try_commands(suite, chroot, arguments, output)}"
    except (Impossible, Failed, subprocess.CalledProcessError) as error:
        return False, f"{error} ({log})"
    finally:
        if not arguments.keep:
            chroot.delete()


def try_commands(suite: str, chroot: Chroot, arguments: argparse.Namespace, output: IO[bytes]) -> str:
    """Run both commands, and return a line of results. Raises `Failed`."""
    print(f"{suite}: make serve, and an instance with curl", flush=True)
    with serving(chroot, f"make serve PORT={arguments.port} PYTHON={arguments.python}", output):
        call(chroot, "creating an instance", INSTANCE.format(port=arguments.port), output)
    print(f"{suite}: make test", flush=True)
    ran = f" {shlex.quote(f'ARGS={arguments.tests}')}" if arguments.tests else ""
    output_text = call(chroot, "make test", f"make test PYTHON={arguments.python}{ran}", output)
    return f"make serve works, an instance runs, make test{ran}: {counts(output_text) or 'no tests ran'}"


def call(chroot: Chroot, name: str, script: str, output: IO[bytes]) -> str:
    """Run a script to its end, and return its output. Raises `Failed`."""
    begin = output.seek(0, os.SEEK_END)
    done = subprocess.run(
        chroot.command(script, os.environ), stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
    )
    output_text = Path(output.name).read_bytes()[begin:].decode(errors="replace")
    if done.returncode:
        raise Failed(f"{name} failed with {done.returncode} {counts(output_text)}".rstrip())
    return output_text.strip()


def counts(text: str) -> str:
    """Return the counts of tests in the output of `make test`, such as "7 passed, 1 skipped"; empty without any."""
    return ["", *RESULT.findall(text)][-1]


@contextmanager
def serving(chroot: Chroot, script: str, output: IO[bytes]) -> Iterator[None]:
    """Run a server during the block, and stop it as Ctrl-C does. Raises `Failed` if it does not start or stop."""
    begin = output.seek(0, os.SEEK_END)

    def read_output() -> bytes:
        return Path(output.name).read_bytes()[begin:]

    process = subprocess.Popen(
        chroot.command(script, os.environ),
        stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + START_SECONDS
        while b"\ntoken:" not in read_output():
            if process.poll() is not None or time.monotonic() > deadline:
                raise Failed("make serve did not start")
            time.sleep(1)
        yield
        os.killpg(process.pid, signal.SIGINT)
        process.wait(timeout=START_SECONDS)
        if b"\nStopped." not in read_output():
            raise Failed("make serve was not stopped by Ctrl-C")
    finally:
        process.kill()
        process.wait()
