"""Delivers packet filters to hosts, separately from the jobs of instances, so that neither waits for the other."""

import logging
import time

from django.conf import settings

from compute.drivers.base import DriverError, Unreachable
from compute.machine_names import machine_name
from compute.services.networking.firewalls import delivery
from compute.worker import reachability
from compute.worker.drivers import Drivers, address_of_instance, configured
from compute.worker.networking.firewall_specs import firewall_spec

log = logging.getLogger(__name__)

INTERNAL = "Unexpected "


def apply(instance_id: int, drivers: Drivers = configured) -> None:
    """Deliver the packet filter of an instance to its host until the host has the newest version, if it is due.

    A failed delivery is retried without end. Staff see it under Needs attention.
    """
    started = time.monotonic()
    while claimed := delivery.claim(instance_id):
        try:
            more = _deliver(claimed, drivers)
        except Exception as error:  # noqa: BLE001 - whatever it was, it must stay due
            _retry(claimed, error)
            return
        if not more:
            return
        if time.monotonic() - started > settings.JOB_SOFT_LIMIT - settings.JOB_DRIVER_TIMEOUT:
            # no time for another call within this task's limits: hand over to a fresh one
            delivery.notify_all([instance_id])
            return


def sweep() -> int:
    """Notify workers of every due packet filter, also after lost notifications, failures and dead workers."""
    found = delivery.due()
    delivery.notify_all(found)
    return len(found)


def _deliver(claimed: delivery.Claim, drivers: Drivers) -> bool:
    """Deliver a claimed packet filter and settle the outcome; True if a newer version is wanted."""
    machine = machine_name(claimed.instance_id)
    wanted = delivery.read(claimed.instance_id)
    if wanted is None:
        return False  # the row was deleted meanwhile, with the instance
    address = address_of_instance(claimed.instance_id)
    version = drivers.at(address).set_firewall(machine, firewall_spec(wanted))
    # a machine that does not exist yet will boot with the packet filter that is current then
    return delivery.settle(claimed, version or wanted.version)


def _retry(claimed: delivery.Claim, error: Exception) -> None:
    expected = isinstance(error, DriverError)
    message = str(error) if expected else f"{INTERNAL}{type(error).__name__}: {error}"
    delivery.postpone(claimed, message)
    known = isinstance(error, Unreachable) and reachability.record_unreachable(
        error, claimed.instance_id, claimed.given
    )
    log.log(
        logging.DEBUG if known else logging.WARNING,
        "the firewall of %s was not sent to its host, attempt %s: %s",
        reachability.name_of(claimed.instance_id), claimed.attempt, message, exc_info=None if expected else error,
    )  # fmt: skip
