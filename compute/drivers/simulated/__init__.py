"""The simulated hypervisor, the default driver. See docs/drivers.md."""

from compute.drivers.simulated.driver import SimulatedDriver
from compute.drivers.simulated.faults import Action, Fault

__all__ = ["Action", "Fault", "SimulatedDriver"]
