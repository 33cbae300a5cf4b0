"""Drivers to check against the interface. A new driver adds itself to `DRIVERS` and runs all of test_contract."""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from compute.drivers.base import Driver
from compute.drivers.simulated import SimulatedDriver
from compute.worker.drivers import Drivers
from tests.compute.drivers.machines import FIRST
from tests.compute.drivers.qemu.disk_files import needs
from tests.compute.drivers.qemu_hosts import QemuHosts, SshQemuHosts
from tests.compute.memory_driver import MemoryDriver


@pytest.fixture
def conninfo(db) -> str:
    """The test database, for connections other than Django's. Their writes are not rolled back."""
    params = connection.get_connection_params()
    keep = {key: params[key] for key in ("host", "port", "user", "password") if params.get(key)}
    return make_conninfo(dbname=connection.settings_dict["NAME"], **keep)


@pytest.fixture
def make_simulated(conninfo) -> Iterator[Callable[..., SimulatedDriver]]:
    """Return a function that makes simulated drivers, each with its own connection, on one empty hypervisor.

    By default the timeouts are long, because an answer may take long on a busy machine.
    """
    made: list[SimulatedDriver] = []

    def make(scale: float = 0.0, timeout: float = 240.0) -> SimulatedDriver:
        made.append(SimulatedDriver(conninfo, scale, timeout).at(FIRST))
        return made[-1]

    make().forget_all()
    yield make
    made[0].forget_all()
    for each in made:
        each.close()


@pytest.fixture
def simulated(make_simulated) -> SimulatedDriver:
    """An empty simulated hypervisor, which finishes everything at once."""
    return make_simulated()


@pytest.fixture
def memory() -> MemoryDriver:
    """The driver that tests of jobs use. It must fulfil the same contract as the others."""
    return MemoryDriver().at(FIRST)


@pytest.fixture
def qemu(tmp_path) -> Iterator[QemuHosts]:
    """Hosts with QEMU, emulated."""
    needs("qemu-system-x86_64", "mke2fs", "e2fsck", "resize2fs", "debugfs")
    hosts = QemuHosts(tmp_path)
    yield hosts
    hosts.end()


@pytest.fixture
def qemu_by_ssh(tmp_path) -> Iterator[SshQemuHosts]:
    """Hosts with QEMU, each behind an sshd."""
    needs("qemu-system-x86_64", "mke2fs", "e2fsck", "resize2fs", "debugfs", "sshd", "ssh", "ssh-keygen")
    hosts = SshQemuHosts(tmp_path)
    yield hosts
    hosts.end()


# The names of the fixtures of drivers. By ssh, each call takes a tenth of a second more. Most of the code that
# coverage counts then runs in other processes. Therefore only the run of all tests includes ssh.
DRIVERS = [
    "simulated",
    "memory",
    pytest.param("qemu", marks=pytest.mark.guest),
    pytest.param("qemu_by_ssh", marks=[pytest.mark.guest, pytest.mark.system]),
]


@pytest.fixture(params=DRIVERS)
def hosts(request) -> Drivers:
    """Each driver in turn, on hosts without machines."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def driver(hosts) -> Driver:
    """The driver of the first host."""
    return hosts.at(FIRST)
