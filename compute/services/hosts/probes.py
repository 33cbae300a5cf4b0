"""The probes of hosts: the watchdog asks each host whether it answers, with one probe at a time.

Each host has a lease of its own, so that a host that hangs delays no other. Times are on the database's clock.
"""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection

from compute.models import Host
from compute.services.hosts.reachability import BEING_ADDED
from config.db import leases

TASK_NAME = "compute.worker.watch_host"
MAX_PROBES_OF_SILENT_HOSTS = 2
"""The most silent hosts that are probed at the same time. Each may occupy a worker process until the time limit."""

LEASE_MARGIN = 5.0
"""Seconds that the lease outlasts the driver's time limit. While a killed worker's lease lasts, no other worker
probes the host. So the lease covers the probe itself, and not the work after it. A second probe that begins during
that work does no harm."""

_LEASED = leases.leased("probe_lease")
_CLAIM = f"""
UPDATE compute_host SET probe_lease = {leases.after("%(lease)s")}
 WHERE id = %(id)s AND {leases.due("probe_at")} AND {leases.unleased("probe_lease")}
   AND (unreachable_since IS NULL OR %(most)s > (
        SELECT count(*) FROM compute_host WHERE unreachable_since IS NOT NULL AND {_LEASED}))
RETURNING probe_lease
"""  # noqa: S608 - of constants

_GIVE_BACK = f"""
UPDATE compute_host SET probe_lease = NULL, probe_at = {leases.after("%(every)s")}
 WHERE id = %(id)s AND probe_lease = %(lease)s
"""  # noqa: S608 - of constants

_DUE = f"""
SELECT id FROM compute_host
 WHERE {leases.due("probe_at")} AND {leases.unleased("probe_lease")} AND id <> ALL(%(added)s)
 ORDER BY probe_at, id
"""  # noqa: S608 - of constants


def due() -> list[int]:
    """Return the hosts to probe now, the least recently probed first.

    Disabled hosts are included, because they may still have instances. A host that is being added is left out,
    because it does not know the platform yet.
    """
    added = list(Host.objects.filter(BEING_ADDED).values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(_DUE, {"added": added, "horizon": _horizon()})
        return [row[0] for row in cursor.fetchall()]


def claim(host_id: int) -> tuple[Host, datetime] | None:
    """Take the lease of a host that is due, and return both; None if another worker has it, or if it is not due.

    Also None while `MAX_PROBES_OF_SILENT_HOSTS` other silent hosts are being probed: a later probe covers this
    host.
    """
    values: dict[str, Any] = {
        "id": host_id,
        "lease": settings.JOB_DRIVER_TIMEOUT + LEASE_MARGIN,
        "most": MAX_PROBES_OF_SILENT_HOSTS,
        "horizon": _horizon(),
    }
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, values)
        row = cursor.fetchone()
    host = None if row is None else Host.objects.filter(pk=host_id).first()
    return None if row is None or host is None else (host, row[0])


def give_back(host_id: int, lease: datetime) -> None:
    """End the probe: the host is due again before the clock's next round."""
    values: dict[str, Any] = {"id": host_id, "lease": lease, "every": settings.WATCHDOG_EVERY / 2}
    with connection.cursor() as cursor:
        cursor.execute(_GIVE_BACK, values)


def _horizon() -> float:
    return leases.horizon_of(settings.WATCHDOG_EVERY, settings.JOB_LEASE)
