"""Reading what machines have used off their hosts."""

import logging
from dataclasses import asdict

from django.db import connection
from django.utils.timezone import now

from compute.drivers.base import Driver, DriverError
from compute.jobs.drivers import driver as configured_driver
from compute.jobs.run import machine_name
from compute.models import Host, Instance
from compute.services import alerts, sampling

log = logging.getLogger(__name__)


def sample(driver: Driver | None = None) -> int:
    """Take a sample of every instance on every host, and look at the alerts; returns how many were written."""
    driver = driver or configured_driver()
    taken = 0
    for host in Host.objects.order_by("pk"):
        try:
            taken += _sample_host(driver, host)
        except DriverError as error:
            # its counters go on, and the next look counts what this one could not
            log.warning("host %s tells nothing of its machines: %s", host.uuid, error)
    alerts.check(now())
    return taken


def _sample_host(driver: Driver, host: Host) -> int:
    usages = {usage.machine: asdict(usage) for usage in driver.usage(str(host.uuid))}
    if not usages:
        return 0
    ids = Instance.objects.filter(host=host).values_list("pk", flat=True)
    known = {pk: usages[machine_name(pk)] for pk in ids if machine_name(pk) in usages}
    for counters in known.values():
        del counters["machine"]
    with connection.cursor() as cursor:
        # the clock of the database, which all workers share
        cursor.execute("SELECT clock_timestamp()")
        at = cursor.fetchone()[0]
    return sampling.record(known, at)
