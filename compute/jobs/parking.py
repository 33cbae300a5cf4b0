"""Parking jobs: a job that needs a host which does not answer waits for that host, and makes no calls meanwhile.

A parked job has no lease, keeps its step, and names the host in `Job.waits_for`. `resume_all` makes the job due
when the host answers. It reads the present state, not the moment of the answer. So no job is forgotten if it was
parked just after its host answered, if its host was removed, or if its worker died between two statements.
"""

from typing import Any

from django.db import connection

from compute.jobs.store import MAX_WAIT
from compute.models import Job
from config.db import leases

MESSAGE = "The host does not answer. The platform continues when the host answers again."
"""The message of a parked job's event, added after the event's present message."""

# An active job is due at its deadline at the latest, and is given up then. A job that was overdue when it was
# claimed only waits for the host to report the machine's power. A job that was cancelled or superseded during its
# call is ready, and may need no host to end: it is claimed once more.
_PARK = f"""
WITH parked AS (
    UPDATE compute_job
       SET waits_for_id = %(host)s, error = %(error)s, {leases.GIVEN_BACK}, share_slot = NULL, notified_at = NULL,
           attempt = GREATEST(0, attempt - %(uncounted)s),
           run_at = CASE WHEN ready THEN statement_timestamp()
                         WHEN state = 'active' AND NOT %(overdue)s
                         THEN LEAST(deadline_at, {leases.after("%(longest)s")})
                         ELSE {leases.after("%(longest)s")} END
     WHERE id = %(id)s AND {leases.MINE} AND state IN ('active', 'undoing')
       AND EXISTS (SELECT FROM compute_host WHERE id = %(host)s AND unreachable_since IS NOT NULL)
 RETURNING id, event_id
), updated_event AS (
    UPDATE accounts_event
       SET message = concat_ws(' ', NULLIF(message, ''), %(message)s::text), rate = NULL, time_remaining = NULL
      FROM parked WHERE accounts_event.id = parked.event_id AND strpos(message, %(message)s::text) = 0
)
SELECT id FROM parked
"""  # noqa: S608 - of constants

_CLEARED = "btrim(replace(message, %(message)s::text, ''))"

_UNPARK = f"""
WITH unparked AS (
    UPDATE compute_job SET waits_for_id = NULL WHERE id = %(id)s AND {leases.MINE}
 RETURNING event_id
)
UPDATE accounts_event SET message = {_CLEARED} FROM unparked WHERE accounts_event.id = unparked.event_id
"""  # noqa: S608 - of constants

# A job on no instance works on volumes, which all hosts of the region have: it waits until any of them answers.
# Rows that another process changes at this moment are skipped: the next call sees them.
_TO_RESUME = """
SELECT job.id FROM compute_job AS job
 WHERE job.state IN ('active', 'undoing') AND job.waits_for_id IS NOT NULL AND job.lease_until IS NULL
   AND NOT EXISTS (
    SELECT FROM compute_host AS host
     WHERE host.id = job.waits_for_id AND host.unreachable_since IS NOT NULL
       AND (job.instance_id IS NOT NULL OR NOT EXISTS (
            SELECT FROM compute_host AS other
             WHERE other.region_id = host.region_id AND other.unreachable_since IS NULL)))
 ORDER BY job.id FOR UPDATE SKIP LOCKED
"""
# In one order: a request that marks many events as seen locks them as well.
_THEIR_EVENTS = """
SELECT id FROM accounts_event WHERE id IN (SELECT event_id FROM resumed) ORDER BY id FOR NO KEY UPDATE"""
_RESUME = f"""
WITH resumed AS (
    UPDATE compute_job
       SET waits_for_id = NULL, run_at = statement_timestamp(), ready = true, notified_at = NULL
     WHERE {leases.chosen("id", _TO_RESUME)}
 RETURNING id, event_id
), updated_event AS (
    UPDATE accounts_event SET message = {_CLEARED} WHERE {leases.chosen("id", _THEIR_EVENTS)}
)
SELECT id FROM resumed
"""  # noqa: S608 - of constants


def park(job: Job, host_id: int, error: str, *, counted: bool) -> bool:
    """Release the lease and let the job wait for the host. With `counted`, the attempt that the claim counted is
    kept.

    Returns False if nothing was written: the host answers by now, is gone, or the lease was lost.
    """
    values: dict[str, Any] = {
        "id": job.pk,
        "fence": job.fence,
        "host": host_id,
        "error": error,
        "uncounted": 0 if counted else 1,
        "overdue": job.overdue,
        "longest": MAX_WAIT,
        "message": MESSAGE,
    }
    with connection.cursor() as cursor:
        cursor.execute(_PARK, values)
        return cursor.fetchone() is not None


def unpark(job: Job) -> None:
    """Record that a claimed job no longer waits for a host."""
    with connection.cursor() as cursor:
        cursor.execute(_UNPARK, {"id": job.pk, "fence": job.fence, "message": MESSAGE})
    job.waits_for = None


def resume_all() -> list[int]:
    """Make due every parked job whose host answers, or was removed, and return their ids.

    The sweep notifies workers of them within a second.
    """
    with connection.cursor() as cursor:
        cursor.execute(_RESUME, {"message": MESSAGE})
        return [row[0] for row in cursor.fetchall()]
