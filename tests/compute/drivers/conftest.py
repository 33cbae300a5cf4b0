"""Drivers to hold against the interface. A new driver adds itself to `DRIVERS` and runs all of test_contract."""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from compute.drivers.base import Driver
from compute.drivers.simulated import SimulatedDriver
from tests.compute.memory_driver import MemoryDriver


@pytest.fixture
def conninfo(db) -> str:
    """The test database, for connections beside Django's. What they write is not rolled back."""
    params = connection.get_connection_params()
    keep = {key: params[key] for key in ("host", "port", "user", "password") if params.get(key)}
    return make_conninfo(dbname=connection.settings_dict["NAME"], **keep)


@pytest.fixture
def make_simulated(conninfo) -> Iterator[Callable[..., SimulatedDriver]]:
    """Make simulated drivers, each with its own connection, on one empty hypervisor.

    They are patient unless told otherwise: on a busy machine an honest answer may take long.
    """
    made: list[SimulatedDriver] = []

    def make(scale: float = 0.0, timeout: float = 240.0) -> SimulatedDriver:
        made.append(SimulatedDriver(conninfo, scale, timeout))
        return made[-1]

    make().forget_all()
    yield make
    made[0].forget_all()
    for each in made:
        each.close()


@pytest.fixture
def simulated(make_simulated) -> SimulatedDriver:
    """An empty simulated hypervisor where everything is done at once."""
    return make_simulated()


@pytest.fixture
def memory() -> MemoryDriver:
    """What the tests of jobs run on, which has to keep the same promises."""
    return MemoryDriver()


# The names of the fixtures that give them.
DRIVERS = ["simulated", "memory"]


@pytest.fixture(params=DRIVERS)
def driver(request) -> Driver:
    """Each driver in turn, on an empty hypervisor."""
    return request.getfixturevalue(request.param)
