"""QEMU hosts for the contract of drivers: directories, and guests of one sector on a disk with a file system."""

import os
from pathlib import Path

from compute.drivers.base import Address, Options
from compute.drivers.qemu.agent import settings
from compute.drivers.qemu.agent.machines import machine_dirs
from compute.drivers.qemu.agent.settings import Settings
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.driver import QemuDriver
from tests.compute.drivers.qemu.disk_files import program, system_folder
from tests.compute.drivers.qemu.hosts import make_kernel
from tests.compute.drivers.qemu.sectors import boot_sector
from tests.compute.drivers.qemu.ssh_hosts import SshHost, make_key, public

IMAGE = "compute/debian12"
IMAGE_MB = 64


class QemuHosts:
    """Hosts below one folder, created when first used. They share volumes and archives."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.stores: dict[str, Store] = {}
        (folder / "shared" / "volumes").mkdir(parents=True)

    def at(self, address: Address) -> QemuDriver:
        if address.name not in self.stores:
            store = self.stores[address.name] = self._make(address.name)
            settings.save(store, Settings(accel="tcg", patience=500.0))
            make_kernel(store)
            self._make_image(store)
        return self._driver(address.name)

    def _make(self, name: str) -> Store:
        return Store(self.folder / name, self.folder / "shared")

    def _driver(self, name: str) -> QemuDriver:
        where = Address(name, "qemu", str(self.folder / name), str(self.folder / "shared"))
        return QemuDriver(where, Options(timeout=300.0, archives=str(self.folder / "archives")))

    def _make_image(self, store: Store) -> None:
        """Create a small system whose disk boots by itself. The file system leaves the disk's first sectors
        free."""
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
                machine_dirs.cut(directory, timeout=120)


class SshQemuHosts(QemuHosts):
    """QEMU hosts, each reached by ssh."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.operator = make_key(folder / "operator" / "key")
        self.identity = folder / "ssh" / "identity"
        make_key(self.identity)
        self.servers: dict[str, SshHost] = {}

    def _make(self, name: str) -> Store:
        server = SshHost(self.folder / name, name, self.operator, self.identity, self.folder / "shared")
        self.servers[name] = server
        server.start()
        server.administrator.bring_agent()
        server.administrator.admit(public(self.identity))
        return server.store

    def _driver(self, name: str) -> QemuDriver:
        return self.servers[name].driver

    def end(self) -> None:
        super().end()
        for server in self.servers.values():
            server.end()
