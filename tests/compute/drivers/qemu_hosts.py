"""Hosts of QEMU's for the contract of drivers: directories, and guests of one sector beside a file system."""

import os
from pathlib import Path

from compute.drivers.base import Address, Options
from compute.drivers.qemu.agent import settings, verbs
from compute.drivers.qemu.agent.settings import Settings
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.driver import QemuDriver
from tests.compute.drivers.qemu.disk_files import program, system_folder
from tests.compute.drivers.qemu.hosts import make_kernel
from tests.compute.drivers.qemu.sectors import boot_sector

IMAGE = "compute/debian12"
IMAGE_MB = 64


class QemuHosts:
    """Hosts below one folder, made when they are first asked for. They share volumes and archives."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.stores: dict[str, Store] = {}

    def at(self, address: Address) -> QemuDriver:
        root, shared = self.folder / address.name, self.folder / "shared"
        if address.name not in self.stores:
            store = self.stores[address.name] = Store(root, shared)
            (shared / "volumes").mkdir(parents=True, exist_ok=True)
            settings.save(store, Settings(accel="tcg", patience=500.0))
            make_kernel(store)
            self._make_image(store)
        where = Address(address.name, "qemu", str(root), str(shared))
        return QemuDriver(where, Options(timeout=300.0, archives=str(self.folder / "archives")))

    def _make_image(self, store: Store) -> None:
        """A small system whose disk boots by itself: a file system leaves its first sectors free."""
        path = store.image(IMAGE)
        path.parent.mkdir(parents=True)
        path.touch()
        os.truncate(path, IMAGE_MB << 20)
        folder = system_folder(self.folder / "system")
        program("mke2fs", "-q", "-t", "ext4", "-b", "4096", "-E", "resize=268435456", "-d", folder, path)
        with path.open("r+b") as file:
            file.write(boot_sector())

    def end(self) -> None:
        """Cut the power of all machines."""
        for store in self.stores.values():
            for directory in (store.root / "machines").glob("*"):
                verbs.cut(directory, timeout=120)
