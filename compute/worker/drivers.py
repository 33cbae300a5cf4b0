"""The drivers of hosts, which rows and settings name."""

from functools import cache
from typing import Protocol

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.utils.module_loading import import_string
from psycopg.conninfo import make_conninfo

from compute.drivers.base import Address, Driver, DriverError, Options, Unreachable
from compute.models import Host
from compute.worker import identity
from compute.worker.driver_spans import traced
from config.processes import tracing


class InstanceGone(DriverError):
    """The instance whose host is asked for was deleted."""


class HostAway(Unreachable):
    """The host is recorded as not answering, so it is not called. `host` is its uuid."""

    def __init__(self, host: str):
        super().__init__("The host does not answer.", host)


class Drivers(Protocol):
    """An object that finds the driver of a host."""

    def at(self, address: Address) -> Driver:
        """Return the driver of the host. Raises `DriverError` if this worker has no such driver."""


class ConfiguredDrivers:
    """The drivers of the setting DRIVERS. Each driver is made once for each host and database of this process."""

    def at(self, address: Address) -> Driver:
        # a call and its one reconnect must end before the step they serve is called overdue
        timeout = settings.JOB_DRIVER_TIMEOUT * 2 / 3
        key = str(identity.file()) if address.location.startswith("ssh:") else ""
        options = Options(timeout, str(settings.ARCHIVES_DIR), _conninfo(), settings.DRIVER_SCALE, key)
        driver = _driver(address, options)
        return traced(driver, address) if tracing.on() else driver


@cache
def _driver(address: Address, options: Options) -> Driver:
    path = settings.DRIVERS.get(address.driver)
    if path is None:
        raise DriverError(f"This worker has no driver {address.driver}.")
    driver: Driver = import_string(path).connect(address, options)
    return driver


def _conninfo() -> str:
    """Return the database of the simulated hypervisor: ours, in a schema of its own, unless another one is
    configured."""
    if settings.DRIVER_CONNINFO:
        return settings.DRIVER_CONNINFO
    return _own_database(connection.settings_dict["NAME"])


@cache
def _own_database(name: str) -> str:
    params = connection.get_connection_params()
    keep = {key: params[key] for key in ("host", "port", "user", "password") if params.get(key)}
    return make_conninfo(dbname=name, **keep)


configured = ConfiguredDrivers()


def address_of(host: Host) -> Address:
    return Address(str(host.uuid), host.driver, host.location, host.shared, host.host_key)


def address_of_instance(instance_id: int) -> Address:
    """Return the address of the host that an instance is on. Raises `InstanceGone`."""
    return address_of(host_of_instance(instance_id))


def host_of_instance(instance_id: int) -> Host:
    """Return the host that an instance is on. Raises `InstanceGone`."""
    host = Host.objects.filter(instances=instance_id).first()
    if host is None:
        raise InstanceGone("The compute was deleted.")
    return host


def host_in(region_id: str) -> Host:
    """Return a host of the region, preferably one that answers. All hosts of a region have its volumes.

    Raises `DriverError` if the region has no host.
    """
    answering_first = F("unreachable_since").asc(nulls_first=True)
    host = Host.objects.filter(region=region_id).order_by(answering_first, "-enabled", "pk").first()
    if host is None:
        raise DriverError("The region has no host.")
    return host


def anywhere(driver: str) -> Address:
    """Return an address of no host, for archives, which every host with this driver has."""
    return Address("", driver)
