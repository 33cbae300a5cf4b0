"""The usage of machines since their last boots."""

import os
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import records, settings
from compute.drivers.qemu.agent.errors import Failed
from compute.drivers.qemu.agent.machines.machine_dirs import all_machines, is_on
from compute.drivers.qemu.agent.machines.qmp import QMP, Silent
from compute.drivers.qemu.agent.machines.supervisor import BOOT
from compute.drivers.qemu.agent.networks import machine_networks
from compute.drivers.qemu.agent.store import Store

ANSWER_SECONDS = 1.0
"""Seconds that a machine's QEMU has to answer. Machines that do not answer in time are left out."""
TICKS = os.sysconf("SC_CLK_TCK")


def usage(store: Store) -> list[dict[str, Any]]:
    """The counters of each machine that is on, as the fields of the interface's `Usage`.

    Network counters need `networking`, because QEMU's user-mode network counts nothing. They restart at 0 with each
    boot.
    """
    found = []
    networking = settings.load(store).networking
    for machine in all_machines(store):
        directory = store.machine(machine)
        if is_on(directory):
            try:
                bytes_ = machine_networks.counted(machine) if networking else {}
                found.append({**_usage(machine, directory), **bytes_})
            except (Failed, FileNotFoundError):
                continue  # the machine is starting, or ended just now
    return found


def _usage(machine: str, directory: Path) -> dict[str, Any]:
    swap = set((records.read(directory / BOOT) or {}).get("swap", ()))
    with QMP(directory / "ask", timeout=ANSWER_SECONDS) as qemu:
        blocks = {"io": 0, "swap": 0}
        for device in qemu.call("query-blockstats"):
            counted = device["stats"]["rd_operations"] + device["stats"]["wr_operations"]
            blocks["swap" if device.get("qdev") in swap else "io"] += counted
        return {"machine": machine, "cpu": _seconds(qemu.pid()), **blocks}


def _seconds(pid: int) -> float:
    """The processor time of a process, of all its threads."""
    if not pid:
        raise Silent("The machine's QEMU is in another namespace.")
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
