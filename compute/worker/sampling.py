"""Reads the usage counters of machines from their hosts."""

import logging
from dataclasses import asdict

from django.utils.timezone import now

from compute.drivers.base import DriverError, Unreachable
from compute.machine_names import machine_name
from compute.models import Host, Instance
from compute.services.hosts import reachability
from compute.services.stats import alerts, sampling
from compute.worker.drivers import Drivers, address_of, configured
from config.db.clock import database_now

log = logging.getLogger(__name__)


def sample(drivers: Drivers = configured) -> int:
    """Take a sample of every instance on every host and check the alerts; returns how many samples were written.

    A host that is recorded as not answering is left out, because it would delay the others.
    """
    taken = 0
    for host in Host.objects.filter(unreachable_since=None).order_by("pk"):
        asked = database_now()
        try:
            taken += _sample_host(drivers, host)
        except Unreachable as error:
            # the host keeps counting, so the next sample includes the growth that this one missed
            reachability.record_unreachable(str(host.uuid), str(error), asked)
        except DriverError as error:
            log.warning("host %s does not report the use of its machines: %s", host, error)
    alerts.check(now())
    return taken


def _sample_host(drivers: Drivers, host: Host) -> int:
    usages = {usage.machine: asdict(usage) for usage in drivers.at(address_of(host)).usage()}
    if not usages:
        return 0
    ids = Instance.objects.filter(host=host).values_list("pk", flat=True)
    known = {pk: usages[machine_name(pk)] for pk in ids if machine_name(pk) in usages}
    for counters in known.values():
        del counters["machine"]
    return sampling.record(known, database_now())
