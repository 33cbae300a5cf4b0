"""The sweep's statements. They make a job ready when its wait or lease is over, and choose the jobs that workers
are notified of.

A ready job has `notified_at` set while one message for it waits in the broker. A worker that takes a message may
claim another job. `return_notification` keeps the number of notified jobs equal to the number of messages.
"""

from django.conf import settings
from django.db import connection

from compute.jobs.claims import READY, SHARE, share_values
from compute.jobs.store import horizon, job_ids
from config.db import leases

SWEEP_LIMIT = 500
"""The largest number of jobs that one sweep notifies workers of."""

_FREE_SLOTS = f"""
UPDATE compute_job SET share_slot = NULL
 WHERE {
    leases.chosen(
        "id",
        f'''
    SELECT id FROM compute_job WHERE share_slot IS NOT NULL AND {leases.unleased()} FOR UPDATE SKIP LOCKED''',
    )
}
"""  # noqa: S608 - of constants

_MAKE_READY = f"""
UPDATE compute_job
   SET ready = true, lease_until = NULL, notified_at = NULL, run_at = LEAST(run_at, statement_timestamp())
 WHERE {
    leases.chosen(
        "id",
        f'''
    SELECT id FROM compute_job
     WHERE state IN ('active', 'undoing') AND {leases.FREE}
       AND (NOT ready OR lease_until IS NOT NULL OR run_at > statement_timestamp())
       FOR UPDATE SKIP LOCKED''',
    )
}
"""  # noqa: S608 - of constants

_UNNOTIFIED = f"{READY} AND notified_at IS NULL AND run_at <= statement_timestamp()"
_NOTIFY = "UPDATE compute_job SET notified_at = statement_timestamp()"
_NOTIFY_DUE = f"""
WITH busy AS MATERIALIZED (
    SELECT share_host, count(*) AS jobs FROM compute_job WHERE share_slot IS NOT NULL GROUP BY share_host
), waiting AS MATERIALIZED (
    SELECT id, COALESCE(busy.jobs, 0) + row_number() OVER (PARTITION BY share_host ORDER BY run_at, id) AS place
      FROM compute_job LEFT JOIN busy USING (share_host) WHERE {_UNNOTIFIED}
)
{_NOTIFY}
 WHERE {
    leases.chosen(
        "id",
        f'''
    SELECT job.id FROM compute_job AS job JOIN waiting ON waiting.id = job.id AND waiting.place <= {SHARE}
     WHERE {_UNNOTIFIED}
     ORDER BY job.run_at LIMIT %(limit)s FOR NO KEY UPDATE OF job SKIP LOCKED''',
    )
}
RETURNING id
"""  # noqa: S608 - of constants

_NOTIFY_ONE = f"""
{_NOTIFY}
 WHERE {
    leases.chosen(
        "id",
        f'''
    SELECT id FROM compute_job WHERE {_UNNOTIFIED}
     ORDER BY run_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED''',
    )
}
RETURNING id
"""  # noqa: S608 - of constants

_RETURN = f"""
UPDATE compute_job SET notified_at = NULL
 WHERE {
    leases.chosen(
        "id",
        f'''
    SELECT id FROM compute_job WHERE {READY} AND notified_at IS NOT NULL
     ORDER BY id = %s DESC, notified_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED''',
    )
}
"""  # noqa: S608 - of constants

_STALE = f"{leases.NOT_NOTIFIED_LATELY} AND notified_at IS NOT NULL"
_COUNT = f"""
SELECT count(*), count(*) FILTER (WHERE {_STALE}) FROM compute_job WHERE {READY} AND notified_at IS NOT NULL
"""  # noqa: S608 - of constants
_NOTIFY_AGAIN = f"""
{_NOTIFY}
 WHERE {
    leases.chosen(
        "id",
        f'''
    SELECT id FROM compute_job WHERE {READY} AND run_at <= statement_timestamp() AND {_STALE}
     ORDER BY notified_at LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED''',
    )
}
RETURNING id
"""  # noqa: S608 - of constants


def make_ready() -> None:
    """Make every job ready whose wait, backoff or lease is over, and free the hosts' slots of lost leases."""
    with connection.cursor() as cursor:
        cursor.execute(_FREE_SLOTS, {"horizon": horizon()})
        cursor.execute(_MAKE_READY, {"horizon": horizon()})


def due(limit: int = SWEEP_LIMIT) -> list[int]:
    """Mark ready jobs for which no message waits as notified, and return their ids.

    For each host, at most as many jobs are marked as slots of its share are free: workers could not claim more. The
    others follow when jobs of the host free their slots.
    """
    return job_ids(_NOTIFY_DUE, {"limit": limit, **share_values()})


def notify_one() -> list[int]:
    """Mark the job that has been ready for longest as notified, of any host; return its id in a list, or none.

    Called when a slot has become free.
    """
    return job_ids(_NOTIFY_ONE, {})


def return_notification(job_id: int) -> bool:
    """Clear `notified_at` of one job, after a worker took the message of `job_id` and claimed no notified job.

    This is the job `job_id`, if it is ready and notified. If not, another worker has claimed it, and its message
    stood for another job: then any ready, notified job is cleared. Returns False if there is none.
    """
    with connection.cursor() as cursor:
        cursor.execute(_RETURN, [job_id])
        return cursor.rowcount == 1


def count_notified() -> tuple[int, int]:
    """Return the numbers of ready jobs that workers were notified of, and of those notified over
    JOB_NOTIFY_PATIENCE ago."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, _patience())
        ready, stale = cursor.fetchone()
    return ready, stale


def due_again(limit: int) -> list[int]:
    """Mark ready jobs whose message may be lost as notified once more, and return their ids."""
    return job_ids(_NOTIFY_AGAIN, {"limit": min(limit, SWEEP_LIMIT), **_patience()})


def _patience() -> dict[str, float]:
    return {"patience": settings.JOB_NOTIFY_PATIENCE, "horizon": horizon()}
