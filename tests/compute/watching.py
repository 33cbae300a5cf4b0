"""Running the clock and a worker for the watchdog."""

from typing import Any

from django.db.models.functions import Now

from compute.models import Host
from compute.services.hosts import probes
from compute.worker import watchdog


def watch(drivers: Any) -> int:
    """Poll every host now, whatever the time of the last poll. Returns the number of instances that were found
    off."""
    Host.objects.update(probe_at=Now(), probe_lease=None)
    return sum(watchdog.watch(host_id, drivers) for host_id in probes.due())
