"""Verbs for machines: define, start, stop, undefine. Each verb may be repeated, and then returns its progress."""

import os
import re
import shutil
import socket
import time
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from compute.drivers.boot import BootSpec
from compute.drivers.qemu.agent import control_groups, records, settings
from compute.drivers.qemu.agent.disks import machine_disks
from compute.drivers.qemu.agent.disks.drives import to_boot
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.machines import command_line, supervisor
from compute.drivers.qemu.agent.machines.command_line import Drive, Machine
from compute.drivers.qemu.agent.machines.machine_dirs import (
    DESCRIPTION,
    LOCK_FILE,
    POWER,
    NoMachine,
    all_machines,
    boot_id,
    cut,
    described,
    exists,
    holders,
    is_on,
    kill,
    locked_machine,
)
from compute.drivers.qemu.agent.machines.qmp import QMP
from compute.drivers.qemu.agent.machines.supervisor import BOOT, ENDED, LOG, STOP
from compute.drivers.qemu.agent.networks import firewalls, machine_networks
from compute.drivers.qemu.agent.progress import DONE, Progress
from compute.drivers.qemu.agent.settings import Settings
from compute.drivers.qemu.agent.store import Store

POLL = 1.0
PRESS_AGAIN = 4.0
"""Seconds after which the power button is pressed again, because a booting guest may ignore the first time."""
QUIT_SECONDS = 5.0
"""Seconds that QEMU has to quit if the guest did not shut down. Then QEMU is killed."""
PORTS_TRIED = 5
# The prompt of a login, or of a rescue's shell, on the console
BOOTED = re.compile(rb"login: |RESCUE SHELL|(?m:^[^\n\[]{0,40}# )")


class NotStarted(Failed):
    """QEMU did not start."""

    def __init__(self, output: str):
        super().__init__("The machine's QEMU did not start.")
        self.details = output


def define(store: Store, machine: str, memory: int, vcpus: int, mac: str) -> None:
    """Define a machine, or change it for its next boot. `memory` in MB."""
    if not re.fullmatch(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", mac):
        raise Refused(f"{mac!r:.40} is not a MAC address.")
    with locked_machine(store, machine, defined=False, make=True) as (directory, _):
        (directory / POWER).touch(mode=0o600)
        (directory / "disks").mkdir(mode=0o700, exist_ok=True)
        records.write(directory / DESCRIPTION, {"name": machine, "memory": memory, "vcpus": vcpus, "mac": mac})


def undefine(store: Store, machine: str) -> None:
    """Cut the power of a machine, and delete its directory.

    If this is interrupted, the machine is still defined, and can be undefined again.
    """
    try:
        with locked_machine(store, machine, defined=False) as (directory, _):
            cut(directory)
            machine_disks.end_tasks(store, machine)
            firewalls.remove(store, machine)
            machine_networks.remove(store, machine)
            last = (DESCRIPTION, LOCK_FILE)
            for path in [each for each in directory.iterdir() if each.name not in last]:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            for name in last:
                (directory / name).unlink(missing_ok=True)
            _remove_if_empty(directory)
    except NoMachine:
        return


def _remove_if_empty(directory: Path) -> None:
    """Remove the directory, unless a call that waited for the lock has made a new lock to define the machine."""
    try:
        directory.rmdir()
    except OSError:
        if not (directory / LOCK_FILE).exists():
            raise


def power(store: Store, machine: str) -> str:
    """The power state of a machine: ``on``, ``off`` or ``absent``."""
    if not exists(store, machine):
        return "absent"
    return "on" if is_on(store.machine(machine)) else "off"


def powered_off(store: Store) -> list[str]:
    """The machines that are defined and off."""
    return [each for each in all_machines(store) if not is_on(store.machine(each))]


def ended(store: Store, machine: str) -> dict[str, Any] | None:
    """Return why and when a machine ended; None if the machine is on or was never on.

    ``why`` is ``guest-shutdown``, ``host-request``, ``killed``, ``failed-to-start``, or ``unknown`` if the
    supervisor ended before QEMU did.
    """
    directory = store.machine(machine)
    if is_on(directory) or not (directory / BOOT).exists():
        return None
    return records.read(directory / ENDED) or {"why": "unknown"}


def booted(store: Store, machine: str) -> dict[str, Any] | None:
    """The record of a machine's last boot; None before the first boot.

    Among others, ``began`` is the time of the boot, and ``port`` of 127.0.0.1 is forwarded to the machine's ssh.
    """
    return records.read(store.machine(machine) / BOOT)


def ssh_port(store: Store, machine: str) -> int | None:
    """The port of 127.0.0.1 that is forwarded to the ssh of a machine that is on; None if there is none."""
    found = booted(store, machine) if is_on(store.machine(machine)) else None
    return None if found is None else found["port"]


# --- on -----------------------------------------------------------------------------------------------------------


def start(store: Store, machine: str, boot: Mapping[str, Any]) -> Progress:
    """Power a machine on. `boot` has the fields of a `BootSpec`.

    Done when the guest shows a login prompt on its console, or after the host's `patience`.
    """
    with locked_machine(store, machine) as (directory, lock):
        host = settings.load(store)
        if is_on(directory):
            if not (directory / STOP).exists():
                return _boot_progress(directory, host)
            waits = _stop(directory, host)
            if not waits.done:
                return Progress(0, waits.wait)
        _power_on(store, directory, lock, described(directory), _boot_of(boot), host, boot.get("firewall"))
        return _boot_progress(directory, host)


TUPLES = ("ipv4", "interfaces", "ranges", "resolvers")
"""The fields of a boot that are lists in JSON."""


def _boot_of(given: Mapping[str, Any]) -> BootSpec:
    """Return a boot from its fields in JSON, without the packet filter, which `firewalls` stores as data."""
    known = {each.name: given[each.name] for each in fields(BootSpec) if each.name in given}
    return BootSpec(**{**known, **{name: tuple(known.get(name, ())) for name in TUPLES}, "firewall": None})


def _power_on(
    store: Store, directory: Path, lock: int, machine: Machine, boot: BootSpec, host: Settings, firewall: Any
) -> None:
    drives = to_boot(store, machine.name, boot)
    name = command_line.DEFAULT_KERNEL if boot.rescue else _kernel(directory, boot, drives)
    kernel = None if name is None else _kernel_files(store, name)
    accel = settings.accelerator(store, host)
    notes = _prepared(store, machine, boot, drives)
    if firewall is not None:
        firewalls.keep(directory, firewall)
    firewalls.check_kept(store, directory)
    machine_networks.make(store, machine, boot)
    firewalls.apply(store, directory)
    for each in (STOP, ENDED, "qmp", "ask", "watch", "console"):
        (directory / each).unlink(missing_ok=True)
    supervisor.trim(directory)
    port = (records.read(directory / BOOT) or {}).get("port")
    limits = control_groups.machine_limits(boot.memory, machine.vcpus, accel)
    for _ in range(PORTS_TRIED):
        port = None if host.networking else _free_port(port)
        record = {
            "began": time.time(),
            "clock": time.monotonic(),
            "host": boot_id(),
            "console": _size(directory / LOG),
            "port": port,
            "accel": accel,
            "notes": notes,
            "swap": [each.name for each in drives if machine_disks.is_swap(directory / each.file)],
            "drives": [each.name for each in drives],
            "limits": command_line.limits(host),
            "arguments": command_line.arguments(machine, boot, drives, host, accel, kernel, port),
        }
        records.write(directory / BOOT, record)
        answer = supervisor.spawn(directory, lock, limits)
        if answer["on"]:
            return
        if "host forwarding" not in answer["stderr"]:
            break
        port = None  # another process took the port in this moment
    raise Failed("The machine could not be started.") from NotStarted(answer["stderr"])


def _prepared(store: Store, machine: Machine, boot: BootSpec, drives: list[Drive]) -> list[str]:
    """Settle the disks of a boot, and write the network onto the system's disk. Return the reasons of failures."""
    root = None if boot.rescue else command_line.root_disk(boot, drives)
    notes = []
    for drive in [each for each in drives if each.label is None]:
        inside = machine_networks.in_guest(machine, boot, settings.load(store)) if drive is root else None
        notes.append(machine_disks.prepare(store, machine.name, drive.name, inside))
    return list(filter(None, notes))


def _kernel(directory: Path, boot: BootSpec, drives: list[Drive]) -> str | None:
    return command_line.kernel_for(boot.kernel, command_line.boots_itself(directory / drives[0].file))


def _kernel_files(store: Store, name: str) -> Path:
    found = (store.kernels() / name).absolute()
    if not all((found / each).exists() for each in ("vmlinuz", "initrd")):
        raise Refused("This host has no kernel to boot from.")
    return found


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _free_port(wanted: int | None) -> int:
    """Return the port of the previous boot, so that ssh commands still work, or else any free port."""
    for port in (wanted or 0, 0):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise Failed("This host has no free port.")


def _boot_progress(directory: Path, host: Settings) -> Progress:
    record = records.read(directory / BOOT) or {}
    if record.get("booted"):
        return DONE
    if not is_on(directory):
        raise Failed("The machine powered off while it booted.")
    took = time.monotonic() - record["clock"]
    if took < host.patience and not BOOTED.search(_printed(directory, record["console"])):
        return Progress(min(99, int(took / host.patience * 100)), POLL)
    records.write(directory / BOOT, {**record, "booted": True})
    return DONE


def _printed(directory: Path, offset: int) -> bytes:
    """Return the console output of a machine since the log had the size `offset`."""
    try:
        log = (directory / LOG).open("rb")
    except FileNotFoundError:
        return b""  # QEMU has not made the log yet
    with log:
        if log.seek(0, os.SEEK_END) >= offset:
            log.seek(offset)
        else:
            log.seek(0)  # a new log was started
        return log.read()


# --- off ----------------------------------------------------------------------------------------------------------


def stop(store: Store, machine: str) -> Progress:
    """Ask a guest to shut down, repeatedly, and cut the power after the host's grace period."""
    try:
        with locked_machine(store, machine) as (directory, _):
            waits = _stop(directory, settings.load(store))
            if waits.done:
                machine_networks.remove(store, machine)
            return waits
    except NoMachine:
        return DONE


def _stop(directory: Path, host: Settings) -> Progress:
    """Take the next step of a shutdown. The steps and their times are recorded, so that any caller can continue."""
    if not is_on(directory):
        return DONE
    now = time.monotonic()
    known = records.read(directory / STOP)
    record = known or {"since": now, "pressed": None}
    if known is None:
        records.write(
            directory / STOP, record
        )  # before the button is pressed, so that the shutdown does not count as the guest's own
    took = now - record["since"]
    if took >= host.grace + QUIT_SECONDS:
        for pid in holders(directory):
            kill(pid)
    elif took >= host.grace:
        _ask(directory, "quit")
    elif (record["pressed"] is None or now - record["pressed"] >= PRESS_AGAIN) and _ask(
        directory, "system_powerdown"
    ):
        records.write(directory / STOP, {**record, "pressed": now})
    return Progress(min(99, int(took / (host.grace + QUIT_SECONDS) * 100)), POLL)


def _ask(directory: Path, command: str) -> bool:
    """Send QEMU a command, and tell whether QEMU took it. A starting, ending or stuck QEMU may not."""
    try:
        with QMP(directory / "qmp", timeout=2) as qemu:
            qemu.call(command)
    except Failed:
        return False
    return True
