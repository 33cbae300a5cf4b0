"""The rows of drift, and the times at which hosts are compared with the rows, all on the database's clock."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from accounts.services.retention import delete_in_batches
from compute.models import Drift, Host
from compute.services.hosts.reachability import BEING_ADDED

TASK_NAME = "compute.worker.reconcile_host"
REPEAT_SECONDS = 20.0
"""Seconds until the next comparison of a host with a new difference, or with one that is being repaired."""
DRIFT_RETENTION = timedelta(days=30)
"""The time for which drift that is over stays readable."""
GONE = "It was no longer seen."

_CLAIM = """
UPDATE compute_host SET reconcile_at = statement_timestamp() + %(every)s * interval '1 second'
 WHERE id = %(id)s AND reconcile_at <= statement_timestamp() AND unreachable_since IS NULL
RETURNING id
"""

COMPARE_EVERYWHERE = """
UPDATE compute_host SET reconcile_at = statement_timestamp() WHERE reconcile_at > statement_timestamp()
"""

# The named rows are locked, so that none is deleted before this row refers to it. The object with this name may be
# another instance's by now. Then the drift counts as found for the first time.
_WRITE = """
INSERT INTO compute_drift AS d (host_id, kind, name, instance_id, disk_id, volume_id, detail)
SELECT %(host)s, f.kind, f.name,
       (SELECT id FROM compute_instance WHERE id = f.instance_id FOR KEY SHARE),
       (SELECT id FROM compute_disk WHERE id = f.disk_id FOR KEY SHARE),
       (SELECT id FROM compute_volume WHERE id = f.volume_id FOR KEY SHARE),
       f.detail
  FROM jsonb_to_recordset(%(found)s::jsonb)
    AS f(kind text, name text, instance_id bigint, disk_id bigint, volume_id bigint, detail text)
 ORDER BY f.kind, f.name
ON CONFLICT (host_id, kind, name) WHERE resolved_at IS NULL DO UPDATE
   SET seen = CASE WHEN d.instance_id IS NOT DISTINCT FROM excluded.instance_id THEN d.seen + 1 ELSE 1 END,
       instance_id = excluded.instance_id, disk_id = excluded.disk_id, volume_id = excluded.volume_id,
       last_seen = statement_timestamp(), detail = excluded.detail
RETURNING id
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference that one comparison of a host found."""

    kind: str
    name: str
    detail: str
    instance_id: int | None = None
    disk_id: int | None = None
    volume_id: int | None = None


def due() -> list[int]:
    """Return the hosts to compare now. A host that does not answer is due as soon as it answers."""
    hosts = Host.objects.filter(reconcile_at__lte=Now(), unreachable_since=None).exclude(BEING_ADDED)
    return list(hosts.order_by("pk").values_list("pk", flat=True))


def claim(host_id: int) -> Host | None:
    """Claim the comparison of a host. None if the host is not due or away, or another worker has claimed it."""
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {"id": host_id, "every": settings.RECONCILE_EVERY})
        if cursor.fetchone() is None:
            return None
    return Host.objects.filter(pk=host_id).first()


def compare_soon(host_id: int, seconds: float = 0.0) -> None:
    """Schedule the comparison of a host in so many seconds, unless an earlier one is scheduled."""
    then = Now() + timedelta(seconds=seconds)
    Host.objects.filter(pk=host_id, reconcile_at__gt=then).update(reconcile_at=then)


def write(host: Host, findings: Sequence[Finding]) -> list[Drift]:
    """Record the findings of a comparison of the host, and close all other drift of it; returns the open rows."""
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, {"host": host.pk, "found": json.dumps([asdict(each) for each in findings])})
        seen = [row[0] for row in cursor.fetchall()]
    opened = Drift.objects.filter(host=host, resolved_at=None)
    opened.exclude(pk__in=seen).update(resolved_at=Now(), outcome=GONE)
    return list(opened.select_related("instance", "job").order_by("pk"))


def close(drift: Drift, outcome: str) -> None:
    """Close an open drift that was repaired."""
    Drift.objects.filter(pk=drift.pk, resolved_at=None).update(resolved_at=Now(), outcome=outcome)


def delete_old() -> int:
    """Delete drift that ended long ago, and return how many rows."""
    return delete_in_batches(Drift.objects.filter(resolved_at__lt=Now() - DRIFT_RETENTION))


def confirmed(drift: Drift) -> bool:
    """Tell whether two comparisons in a row found the drift."""
    return drift.resolved_at is None and drift.seen >= Drift.CONFIRMED


SETTLED_FIRST = (F("resolved_at").desc(nulls_first=True), "-last_seen", "-id")
"""The order for staff: open drift first, then by the time of its end, the latest first."""
