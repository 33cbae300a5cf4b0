"""An instance on a host in memory, and the host's record of its machine."""

import pytest

from compute.machine_names import machine_name
from compute.models import Instance
from tests.compute.worker.scenarios import deployed


@pytest.fixture
def instance(world, driver) -> Instance:
    return deployed(world, driver)


@pytest.fixture
def machine(instance, driver) -> dict:
    """Return the host's record of the instance. Tests change it by hand."""
    return driver.machines[machine_name(instance.pk)]
