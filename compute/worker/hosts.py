"""Checking hosts: the findings of their drivers are written to their rows."""

import time
from dataclasses import dataclass

from compute.drivers.base import DriverError, HostReport
from compute.models import Host
from compute.services.hosts import registry
from compute.services.hosts.placement import RESOURCES
from compute.worker.drivers import Drivers, address_of, configured

OTHER_VOLUMES = "The host has other volumes than {label}. Set `shared` of both to the same directory."
NO_VOLUMES = (
    "The host has no volumes, but {label} has the volumes of the region. "
    "Set `shared` of both to the same directory."
)


class NotReady(Exception):
    """The host is not ready for instances; the text says why."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A host that is ready for instances, and the driver's report on it."""

    host: Host
    report: HostReport
    withdrawn: bool = False
    """Whether this check ended the region's offer of volumes, because the host does not have them."""


def check(host: Host, drivers: Drivers = configured, patience: float = 600.0) -> Checked:
    """Prepare and inspect a host by its driver, and write the findings to its row. Enables a new host.

    Waits `patience` seconds at most for the preparation. Raises `NotReady`, and leaves the host's row unchanged, if
    the host does not answer, cannot be prepared, or has other volumes than the other hosts of its region. A new
    host without volumes is not ready either if its region offers volumes. If a host in service turns out to lack
    the region's volumes, the region offers no volumes from then on.
    """
    try:
        report = _ask_host(host, drivers, patience)
    except DriverError as error:
        raise NotReady(str(error)) from error
    withdrawn = not report.volumes and registry.withdraw_volumes(host.region_id)
    capacity = {name: getattr(report, name) for name in RESOURCES}
    return Checked(registry.record(host, capacity, report.images, report.architectures), report, withdrawn)


def _ask_host(host: Host, drivers: Drivers, patience: float) -> HostReport:
    driver = drivers.at(address_of(host))
    deadline = time.monotonic() + patience
    while not (progress := driver.prepare()).done:
        if time.monotonic() > deadline:
            raise NotReady(f"The host is not ready after {patience:.0f} s.")
        time.sleep(progress.wait)
    report = driver.inspect()
    others = Host.objects.filter(region=host.region_id, enabled=True).exclude(pk=host.pk).order_by("pk")
    if report.volumes:
        for other in others:
            if not driver.same_volumes(drivers.at(address_of(other))):
                if host.enabled:
                    registry.withdraw_volumes(host.region_id)
                raise NotReady(OTHER_VOLUMES.format(label=other.label))
    elif not host.enabled and registry.offers_volumes(host.region_id) and (first := others.first()):
        raise NotReady(NO_VOLUMES.format(label=first.label))
    return report
