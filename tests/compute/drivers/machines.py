"""Machines for the tests of drivers."""

import time
from collections.abc import Callable
from dataclasses import replace

from compute.drivers.base import Address, BootSpec, DiskSpec, Driver, MachineSpec, Progress, VolumeSpec

MACHINE = "skerry-7"
DISK = "skerry-7-disk-1"
SWAP = "skerry-7-disk-2"
COPY = "skerry-7-disk-3"
ARCHIVE = "skerry-image-7"
VOLUME = "skerry-volume-7"
HOST = "us-test-h1"
FIRST, OTHER, THIRD = map(Address, (HOST, "us-test-h2", "us-test-h3"))
PASSWORD = "Tall-ships.sail-at-9"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S owner@example.com"


def machine_spec(name: str = MACHINE, **changes) -> MachineSpec:
    return MachineSpec(**{"name": name, "memory": 2048, "vcpus": 2, "mac": "f2:3c:00:00:00:07", **changes})


def image_disk(name: str = DISK, **changes) -> DiskSpec:
    fields = {"size": 25088, "filesystem": "ext4", "image": "compute/debian12"}
    return DiskSpec(name, **{**fields, "root_password": PASSWORD, "authorized_keys": (KEY,), **changes})


def swap_disk(name: str = SWAP) -> DiskSpec:
    return DiskSpec(name, size=512, filesystem="swap")


def boot_spec(*disks: str) -> BootSpec:
    return BootSpec(
        kernel="compute/grub2",
        root_device="/dev/sda",
        run_level="default",
        virt_mode="paravirt",
        memory=2048,
        devices=dict(zip(("sda", "sdb", "sdc"), disks or (DISK,), strict=False)),
        ipv4=("198.18.0.7",),
        ipv6="2001:db8:77::7",
    )


def volume_spec(name: str = VOLUME, **changes) -> VolumeSpec:
    return VolumeSpec(**{"name": name, "region": "us-test", "size": 20, "hardware": "nvme", **changes})


def make_volume(driver: Driver, name: str = VOLUME, **changes) -> str:
    finish(lambda: driver.create_volume(volume_spec(name, **changes)))
    return name


def with_volumes(boot: BootSpec, **volumes: str) -> BootSpec:
    """Return the same boot with more volumes in these slots. The guest finds them as ``data``."""
    return replace(boot, devices={**boot.devices, **volumes}, volumes=dict.fromkeys(volumes.values(), "data"))


MAX_WAIT = 0.05
"""Seconds between two calls, in which a real host works."""


def finish(call: Callable[[], Progress], most: int = 10_000) -> Progress:
    """Repeat a call until it is done."""
    for _ in range(most):
        progress = call()
        if progress.done:
            return progress
        time.sleep(min(progress.wait, MAX_WAIT))
    raise AssertionError(f"not done after {most} calls: {progress}")


def make_machine(driver: Driver, name: str = MACHINE) -> tuple[str, BootSpec]:
    """Define a machine with a deployed disk, off. Returns its name and its boot."""
    disk = f"{name}-disk-1"
    driver.define(machine_spec(name))
    finish(lambda: driver.create_disk(name, image_disk(disk)))
    return name, boot_spec(disk)


def run_machine(driver: Driver, name: str = MACHINE) -> tuple[str, BootSpec]:
    """Define a machine with a deployed disk, and start it. Returns its name and its boot."""
    name, boot = make_machine(driver, name)
    finish(lambda: driver.start(name, boot))
    return name, boot
