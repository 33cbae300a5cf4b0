"""Access to an instance through its driver: the text console and ssh."""

from compute.drivers.base import Console, Driver, Power
from compute.machine_names import machine_name
from compute.models import Instance
from compute.worker.drivers import Drivers, address_of_instance, configured


def open_console(instance: Instance, drivers: Drivers = configured) -> Console:
    """Open the text console of an instance. Raises `DriverError` if it is off, or if its host does not answer."""
    return _driver(instance, drivers).console(machine_name(instance.pk))


def ssh_command(instance: Instance, drivers: Drivers = configured) -> str | None:
    """Return the ssh command to log in from the instance's host or its network; None while the instance is off."""
    driver, machine = _driver(instance, drivers), machine_name(instance.pk)
    if driver.power(machine) is not Power.ON:
        return None
    port = driver.ssh_port(machine)
    if port is not None:
        return f"ssh -p {port} root@127.0.0.1"
    address = instance.addresses.filter(public=True).order_by("pk").values_list("address", flat=True).first()
    return None if address is None else f"ssh root@{address}"


def _driver(instance: Instance, drivers: Drivers) -> Driver:
    return drivers.at(address_of_instance(instance.pk))
