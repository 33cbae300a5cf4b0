"""The check of a host: whether machines boot there, with KVM or emulated, and the host's capacity."""

import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import commands, records, settings
from compute.drivers.qemu.agent.disks import images
from compute.drivers.qemu.agent.errors import Failed
from compute.drivers.qemu.agent.machines import command_line
from compute.drivers.qemu.agent.settings import ACCEL, Settings
from compute.drivers.qemu.agent.store import Store

KVM = Path("/dev/kvm")
KVM_SECONDS = 30.0
"""With working KVM, a kernel boots in one or two seconds. Emulated KVM inside another machine may open and answer,
and never finish the boot of a kernel."""
EMULATED_SECONDS = 240.0
# The kernel's last message before it starts init, and QEMU's message if KVM fails
USERLAND, GAVE_UP = b"Run /init as init process", b"KVM internal error"
MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial boot, with a kernel and no disks."""

    boots: bool
    seconds: float
    why: str = ""
    """The last words of QEMU or the guest, if the kernel does not boot."""


def check(store: Store, accel: str = "auto", again: bool = False) -> dict[str, Any]:
    """Check this host: boot a kernel with QEMU, and measure the capacity.

    The boot takes seconds, or half a minute if KVM is present but does not work. Its result is stored, and reused
    until QEMU or the running kernel of the host changes. With `again` the boot is repeated.

    The result has these keys:

    - ``qemu``: the version of QEMU, or None.
    - ``accel``: ``kvm`` or ``tcg``, or None if machines do not boot; ``why``: the reason as text.
    - ``memory`` and ``disk`` in MB, and ``cores``.
    - ``images``: see `images.images`; ``kernels``: the names of the kernels.
    - ``volumes``: whether the host has the shared directory.
    - ``problems``: sentences for the operator who adds the host.
    """
    host = settings.load(store)
    problems = []
    version = qemu_version(host)
    kernels = _kernels(store)
    found: dict[str, Any] = {"accel": None, "why": ""}
    if version is None:
        problems.append(f"{host.qemu} is not installed on this host: apt-get install qemu-system-x86 qemu-utils.")
    elif command_line.DEFAULT_KERNEL not in kernels:
        problems.append("This host has no kernel to boot machines with.")
    else:
        found = _decided(store, host, accel, version, again)
        if found["accel"] is None:
            problems.append(f"Machines do not boot on this host: {found['why']}")
    official = images.images(store)
    if not official:
        problems.append("This host has no images.")
    return {
        "qemu": version,
        "accel": found["accel"],
        "why": found["why"],
        "memory": _memory(),
        "cores": len(os.sched_getaffinity(0)),
        "disk": shutil.disk_usage(store.root).total // MB,
        "images": official,
        "kernels": kernels,
        "volumes": store.shared is not None and store.shared.is_dir(),
        "problems": problems,
    }


def qemu_version(host: Settings) -> str | None:
    """The version of QEMU on this host; None if there is no QEMU."""
    try:
        output = commands.run(host.qemu, "-version", timeout=10).stdout
    except Failed:
        return None
    found = re.search(r"version (\d+(\.\d+)+)", output)
    return found[1] if found else output.strip()[:40]


def _decided(store: Store, host: Settings, accel: str, version: str, again: bool) -> dict[str, Any]:
    for_what = {"asked": accel, "qemu": version, "host": os.uname().release}
    known = records.read(store.root / ACCEL)
    if known is not None and not again and known["for"] == for_what:
        return known
    found, why = _find(store, host, accel)
    record = {"accel": found, "why": why, "for": for_what}
    records.write(store.root / ACCEL, record)
    return record


def _find(store: Store, host: Settings, accel: str) -> tuple[str | None, str]:
    """Find the accelerator that machines boot with, and the reason. With ``auto``, KVM is used if it works."""
    why = ""
    if accel != "tcg":
        trial = try_kvm(store, host)
        if trial.boots:
            return "kvm", f"A kernel boots with KVM in {trial.seconds:.1f} s."
        why = trial.why
        if accel == "kvm":
            return None, why
    trial = boot_kernel(store, host, "tcg", EMULATED_SECONDS)
    if trial.boots:
        return "tcg", f"{why} A kernel boots emulated in {trial.seconds:.1f} s.".strip()
    return None, f"{why} {trial.why}".strip()


def try_kvm(store: Store, host: Settings) -> Trial:
    """Try to boot a kernel with KVM. It may fail even if ``/dev/kvm`` exists and can be opened."""
    try:
        os.close(os.open(KVM, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return Trial(False, 0.0, f"{KVM} cannot be used: {error.strerror}.")
    return boot_kernel(store, host, "kvm", KVM_SECONDS)


def boot_kernel(store: Store, host: Settings, accel: str, seconds: float) -> Trial:
    """Boot the kernel of the host's guests without disks, until it starts init."""
    kernel = store.kernels() / command_line.DEFAULT_KERNEL
    command = [
        host.qemu,
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-machine",
        host.platform,
        "-m",
        "256",
    ]
    command += [*command_line.accelerator(accel), *command_line.confinement(host), "-no-reboot"]
    command += ["-kernel", str(kernel / "vmlinuz"), "-initrd", str(kernel / "initrd")]
    command += ["-append", f"console=ttyS0 {command_line.ASSUMED} rescue panic=-1", "-serial", "stdio"]
    began = time.monotonic()
    output = _until(command, (USERLAND, GAVE_UP), began + seconds)
    took = time.monotonic() - began
    if USERLAND in output:
        return Trial(True, took)
    by = "KVM" if accel == "kvm" else "emulation"
    last = output.decode(errors="replace").strip().rpartition("\n")[2][-200:]
    what = f"No kernel boots with {by} within {seconds:g} s"
    if took < seconds:
        what = f"QEMU with {by} stopped after {took:.1f} s, before a kernel had booted"
    return Trial(False, took, f"{what}; its last output: {last!r}.")


def _until(command: Sequence[str], words: Sequence[bytes], deadline: float) -> bytes:
    """Run a program until it prints one of `words`, ends, or reaches the deadline. Return its output."""
    output = b""
    with subprocess.Popen(  # noqa: S603 - without a shell
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as program:
        try:
            assert program.stdout is not None  # noqa: S101 - for the types: it is a pipe
            while not any(each in output for each in words):
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([program.stdout], [], [], left)[0]:
                    break
                piece = os.read(program.stdout.fileno(), 65536)
                if not piece:
                    break
                output += piece
        finally:
            program.kill()
    return output


def _memory() -> int:
    found = re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    return int(found[1]) // 1024 if found else 0


def _kernels(store: Store) -> list[str]:
    return sorted(
        each.parent.name for each in store.kernels().glob("*/vmlinuz") if (each.parent / "initrd").exists()
    )
