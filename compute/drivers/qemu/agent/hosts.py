"""What a host can do: whether machines boot on it, by what, and how much of everything there is."""

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

from compute.drivers.qemu.agent import command_line, commands, images, records, settings
from compute.drivers.qemu.agent.errors import Failed
from compute.drivers.qemu.agent.settings import ACCEL, Settings
from compute.drivers.qemu.agent.store import Store

KVM = Path("/dev/kvm")
KVM_SECONDS = 30.0
"""A kernel boots in a second or two with KVM that works. One that is emulated inside another machine may open and
answer, and never get a kernel to its end."""
EMULATED_SECONDS = 240.0
# The kernel's last words before it is the guest's turn, and what QEMU says where KVM gave up
USERLAND, GAVE_UP = b"Run /init as init process", b"KVM internal error"
MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Trial:
    """The boot of a kernel with nothing else."""

    boots: bool
    seconds: float
    why: str = ""
    """Where it does not boot: what QEMU or the guest said last."""


def check(store: Store, accel: str = "auto", again: bool = False) -> dict[str, Any]:
    """What this host has and can do. The host's kernel is booted for it, which takes seconds, and up to half a
    minute where KVM is there and useless; what came out is remembered for this QEMU and this kernel of the host's,
    unless it is to be found out `again`.

    Returns ``qemu`` (its version, or None), ``accel`` (what machines boot with, or None where they do not),
    ``why`` (in words), ``memory`` and ``disk`` in MB, ``cores``, ``images`` as `images.images` has them,
    ``kernels``, ``volumes`` (whether it has the shared directory) and ``problems``, sentences for who adds it.
    """
    host = settings.load(store)
    problems = []
    version = qemu_version(host)
    kernels = _kernels(store)
    found: dict[str, Any] = {"accel": None, "why": ""}
    if version is None:
        problems.append(f"There is no {host.qemu} on this host: apt-get install qemu-system-x86 qemu-utils.")
    elif command_line.DEFAULT_KERNEL not in kernels:
        problems.append("There is no kernel to boot machines with on this host.")
    else:
        found = _decided(store, host, accel, version, again)
        if found["accel"] is None:
            problems.append(f"Machines do not boot on this host: {found['why']}")
    official = images.images(store)
    if not official:
        problems.append("There are no images on this host.")
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
    """None where there is no QEMU."""
    try:
        said = commands.run(host.qemu, "-version", timeout=10).stdout
    except Failed:
        return None
    found = re.search(r"version (\d+(\.\d+)+)", said)
    return found[1] if found else said.strip()[:40]


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
    """What machines boot with, and why. `accel` is it, or ``auto`` for KVM where it works."""
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
    """Whether a kernel boots with KVM. That ``/dev/kvm`` is there, and may be opened, says nothing yet."""
    try:
        os.close(os.open(KVM, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return Trial(False, 0.0, f"{KVM} cannot be used: {error.strerror}.")
    return boot_kernel(store, host, "kvm", KVM_SECONDS)


def boot_kernel(store: Store, host: Settings, accel: str, seconds: float) -> Trial:
    """Boot the host's kernel without disks, until it would start what is in its initrd."""
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
    said = _until(command, (USERLAND, GAVE_UP), began + seconds)
    took = time.monotonic() - began
    if USERLAND in said:
        return Trial(True, took)
    by = "KVM" if accel == "kvm" else "emulation"
    last = said.decode(errors="replace").strip().rpartition("\n")[2][-200:]
    what = f"No kernel boots with {by} within {seconds:g} s"
    if took < seconds:
        what = f"QEMU with {by} stopped after {took:.1f} s, before a kernel had booted"
    return Trial(False, took, f"{what}; its last words: {last!r}.")


def _until(command: Sequence[str], words: Sequence[bytes], deadline: float) -> bytes:
    """What a program says until it says one of `words`, ends, or the time is over. It is gone afterwards."""
    said = b""
    with subprocess.Popen(  # noqa: S603 - without a shell
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as program:
        try:
            assert program.stdout is not None  # noqa: S101 - for the types: it is a pipe
            while not any(each in said for each in words):
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([program.stdout], [], [], left)[0]:
                    break
                piece = os.read(program.stdout.fileno(), 65536)
                if not piece:
                    break
                said += piece
        finally:
            program.kill()
    return said


def _memory() -> int:
    found = re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    return int(found[1]) // 1024 if found else 0


def _kernels(store: Store) -> list[str]:
    return sorted(
        each.parent.name for each in store.kernels().glob("*/vmlinuz") if (each.parent / "initrd").exists()
    )
