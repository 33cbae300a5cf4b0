"""The reconciler: compares hosts with the rows, one host at a time, and repairs what is safe to repair."""

import logging

from compute.drivers.base import DriverError, Unreachable
from compute.services.hosts import customer_networks, drift, drift_records, drift_verbs, reachability, registry
from compute.worker.drivers import Drivers, address_of, configured
from config.db.clock import database_now
from config.processes.notify import notify

log = logging.getLogger(__name__)


def start_due() -> int:
    """Notify workers of each host that is due; returns how many. Two clocks may do so: one worker claims the
    host."""
    found = drift_records.due()
    for host_id in found:
        notify(drift_records.TASK_NAME, host_id)
    return len(found)


def reconcile(host_id: int, drivers: Drivers = configured) -> int | None:
    """Compare a host that is due; returns the number of differences.

    None if the host is not due or does not answer: a silent host says nothing about its machines.
    """
    host = drift_records.claim(host_id)
    if host is None:
        return None
    asked = database_now()
    try:
        driver = drivers.at(address_of(host))
        peers = registry.peers_of(host) if host.underlay else []
        driver.set_peers(host.underlay or "", peers, customer_networks.networks_of(host.region_id))
        found = driver.inventory()
    except Unreachable as error:
        reachability.record_unreachable(str(host.uuid), str(error), asked)
        return None
    except DriverError as error:
        log.warning("host %s could not list all its objects: %s", host, error)
        return None
    rows = drift_records.write(host, drift.compare(host, found, asked))
    for row in rows:
        if row.seen == row.CONFIRMED:
            log.warning("host %s: %s. %s", host, row, row.detail)
    repaired = drift_verbs.repair_all(rows)
    if repaired or any(not drift_records.confirmed(row) for row in rows):
        drift_records.compare_soon(host.pk, drift_records.REPEAT_SECONDS)
    return len(rows)
