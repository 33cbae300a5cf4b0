"""A control group of its own for each machine and each task, where systemd runs the host.

It is a transient scope: the program is started by us as ever, with the files that it is to have, and systemd counts
and limits it. So the log-out of an ssh session ends none of them, and none takes what is the others'. Elsewhere,
and for users who are not root, there are no limits.
"""

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BOOTED = Path("/run/systemd/system")
"""There where systemd is the host's first process (sd_booted(3))."""
SLICE = "skerry.slice"
MACHINE_TASKS, TASK_TASKS = 1024, 256
"""Threads: QEMU has up to 64 for its disks, beside those of processors."""
OVERHEAD, TRANSLATED = 512, 256
"""MB that QEMU may need beside the guest's memory, and what emulation translates programs into."""
TASK_MEMORY = 4096
"""MB for work at a disk, whose file system may be a hostile one."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a control group may have: `memory` in MB, `cores` of processors, `threads`, and a share of the disks'
    time by `weight`, 100 being as much as any other's."""

    memory: int
    cores: float
    threads: int
    weight: int = 100


TASK_LIMITS = Limits(TASK_MEMORY, 2, TASK_TASKS, 50)


def of_machine(memory: int, vcpus: int, accel: str) -> Limits:
    """The limits of a machine's QEMU with its supervisor. `memory` in MB; half a core is for the devices."""
    more = OVERHEAD + memory // 16 + (TRANSLATED if accel == "tcg" else 0)
    return Limits(memory + more, vcpus + 0.5, MACHINE_TASKS)


def has_systemd() -> bool:
    return os.geteuid() == 0 and BOOTED.is_dir() and shutil.which("systemd-run") is not None


def within(name: str, limits: Limits, command: Sequence[str]) -> list[str]:
    """The command that runs `command`, as itself, in a scope named after `name`; or `command`, where systemd does
    not run the host. No two scopes have one name: an earlier one of a machine may be there for a moment longer."""
    if not has_systemd():
        return list(command)
    properties = {
        "MemoryMax": f"{limits.memory}M",
        "MemorySwapMax": "0",
        "CPUQuota": f"{limits.cores:.0%}",
        "TasksMax": limits.threads,
        "IOWeight": limits.weight,
    }
    unit = f"{name}-{time.time_ns() // 1_000_000:x}"
    found = ["systemd-run", "--scope", "--quiet", "--collect", f"--slice={SLICE}", f"--unit={unit}"]
    found += [f"--property={key}={value}" for key, value in properties.items()]
    return [*found, "--", *command]
