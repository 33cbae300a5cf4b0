"""QEMU hosts for tests: machines with a disk of one sector, and helpers that wait for them."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import settings
from compute.drivers.qemu.agent.machines import lifecycle, qmp
from compute.drivers.qemu.agent.progress import Progress
from compute.drivers.qemu.agent.store import Store
from tests.compute.drivers.qemu.sectors import boot_sector, kernel
from tests.waiting import wait_for

QEMU = "qemu-system-x86_64"
MACHINE = "skerry-7"
OTHER = "skerry-8"
VOLUME = "skerry-volume-7"
MAC = "f2:3c:00:00:00:07"


def make_machine(store: Store, name: str = MACHINE, obedient: bool = True) -> str:
    """Create a machine that is off, with a disk of one sector."""
    lifecycle.define(store, name, memory=32, vcpus=1, mac=MAC)
    make_disk(store.disk(name, f"{name}-disk-1"), obedient)
    return name


def make_disk(path: Path, obedient: bool = True, size: int = 1 << 20) -> None:
    path.write_bytes(boot_sector(obedient))
    os.truncate(path, size)


def make_volume(store: Store, name: str = VOLUME, size: int = 1 << 20) -> str:
    with store.volume(name).open("xb") as file:
        file.truncate(size)
    return name


def boot(machine: str = MACHINE, **changes: Any) -> dict[str, Any]:
    """Return the arguments that boot a machine from its disk."""
    return {
        "kernel": "compute/direct-disk",
        "root_device": "/dev/sda",
        "run_level": "default",
        "virt_mode": "paravirt",
        "memory": 32,
        "devices": {"sda": f"{machine}-disk-1"},
        "volumes": {},
        "ipv4": ("198.18.0.7",),
        "ipv6": "2001:db8:77::7",
        **changes,
    }


def until_done(call: Callable[[], Progress]) -> None:
    """Repeat a call until it is done."""
    wait_for(lambda: call().done, 500)


def run_machine(store: Store, name: str = MACHINE, obedient: bool = True, **changes: Any) -> str:
    """Create a machine that is on."""
    make_machine(store, name, obedient)
    until_done(lambda: lifecycle.start(store, name, boot(name, **changes)))
    return name


def make_kernel(store: Store, name: str = "default") -> None:
    directory = store.kernels() / name
    directory.mkdir(parents=True)
    (directory / "vmlinuz").write_bytes(kernel())
    (directory / "initrd").write_bytes(b"nothing")


def configure(store: Store, **changes: Any) -> None:
    settings.save(store, replace(settings.load(store), **changes))


def until_off(store: Store, machine: str = MACHINE) -> None:
    wait_for(lambda: lifecycle.power(store, machine) == "off", 500)


def typed(store: Store, machine: str, keys: bytes) -> None:
    """Type on a machine's console."""
    with qmp.connect(store.machine(machine) / "console", 10) as connection:
        connection.sendall(keys)
