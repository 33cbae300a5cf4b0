"""Control groups for machines and tasks, on hosts with systemd.

Each machine and each task runs in a transient scope. The agent starts the program itself, so that the program
inherits open files. systemd counts and limits the resources of the program. So the programs survive the end of an
ssh session, and none uses the resources of the others. Without systemd, or if the agent is not root, there are no
limits.
"""

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BOOTED = Path("/run/systemd/system")
"""The directory that exists if systemd is the host's first process (sd_booted(3))."""
SLICE = "skerry.slice"
MACHINE_TASKS, TASK_TASKS = 1024, 256
"""The maximum numbers of threads. QEMU has up to 64 threads for its disks, besides those for processors."""
OVERHEAD, TRANSLATED = 512, 256
"""MB that QEMU may need besides the guest's memory, and MB for translated code under emulation."""
TASK_MEMORY = 4096
"""MB for a task on a disk, whose file system may be hostile."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a control group.

    `memory` is in MB. `weight` is the group's share of the disks' time; the default weight of a group is 100.
    """

    memory: int
    cores: float
    threads: int
    weight: int = 100


TASK_LIMITS = Limits(TASK_MEMORY, 2, TASK_TASKS, 50)


def machine_limits(memory: int, vcpus: int, accel: str) -> Limits:
    """The limits of a machine's QEMU with its supervisor. `memory` in MB. Half a core is added for the devices."""
    more = OVERHEAD + memory // 16 + (TRANSLATED if accel == "tcg" else 0)
    return Limits(memory + more, vcpus + 0.5, MACHINE_TASKS)


def has_systemd() -> bool:
    return os.geteuid() == 0 and BOOTED.is_dir() and shutil.which("systemd-run") is not None


def in_scope(name: str, limits: Limits, command: Sequence[str]) -> list[str]:
    """The command that runs `command` in a scope named after `name`; without systemd, `command` itself.

    The name of each scope is unique, because an earlier scope of a machine may still exist for a moment.
    """
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
