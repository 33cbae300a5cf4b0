"""Claiming jobs: a free slot of a worker takes the ready job that is fairest now. See docs/jobs.md.

A notification only says that there is work. The table decides at the moment of the claim which job comes first: a
message that was sent earlier does not decide it. The statements read the index of ready jobs by groups: the jobs of
one account, urgency and host. So the length of the queue hardly matters.
"""

import logging

from django.conf import settings
from django.db import IntegrityError, connection

from compute.jobs.store import CLAIMED, JOB_COLUMNS, horizon, one_job
from compute.models import Job
from config.db import leases
from config.db.rows import violated_constraint

log = logging.getLogger(__name__)

MAX_BULK_WAIT = 60.0
"""Seconds for which a ready bulk job is claimed after interactive jobs of any account. After this time it counts as
interactive, so that it cannot starve."""
UNKNOWN_SLOTS = 4
"""The number of slots that is assumed until a worker has reported its own."""
RACE_ATTEMPTS = 20
"""The number of times that a claim is repeated if another claim took the host's slot at the same moment."""

READY = "state IN ('active', 'undoing') AND ready AND lease_until IS NULL"
"""SQL: the condition for the jobs that workers choose from."""
SHARE = """(
    SELECT GREATEST(1, floor(%(host_share)s::float8 * COALESCE(NULLIF(sum(slots), 0), %(unknown)s::bigint)))::bigint
      FROM compute_heartbeat
     WHERE kind = 'worker' AND 'celery' = ANY(queues) AND stopped IS NULL
       AND seen > statement_timestamp() - interval '30 seconds')"""
"""SQL: the number of slots that the jobs of one host may take. Takes ``host_share`` and ``unknown``."""

_GROUP = "account_id, bulk, share_host"
# Turns in the future were taken before the clock was set back: their account would be the last until then.
_NEXT = f"""
WITH RECURSIVE busy AS MATERIALIZED (
    SELECT account_id, share_host FROM compute_job WHERE share_slot IS NOT NULL
), share AS MATERIALIZED (
    SELECT {SHARE} AS slots
), waiting AS (
    (SELECT {_GROUP}, run_at FROM compute_job WHERE {READY} ORDER BY {_GROUP}, run_at LIMIT 1)
     UNION ALL
    SELECT later.* FROM waiting CROSS JOIN LATERAL (
        SELECT {_GROUP}, run_at FROM compute_job
         WHERE {READY} AND ({_GROUP}) > (waiting.account_id, waiting.bulk, waiting.share_host)
         ORDER BY {_GROUP}, run_at LIMIT 1) AS later
), chosen AS (
    SELECT first.id, first.notified_at
      FROM (
        SELECT account_id, bulk, share_host FROM waiting
         WHERE run_at <= statement_timestamp()
           AND (SELECT count(*) FROM busy WHERE busy.share_host = waiting.share_host) < (SELECT slots FROM share)
         ORDER BY (SELECT count(*) FROM busy WHERE busy.account_id = waiting.account_id),
                  bulk AND run_at > {leases.after("-%(longest_bulk_wait)s::float8")},
                  (SELECT max(claimed_at) FROM compute_job
                    WHERE account_id = waiting.account_id AND claimed_at <= statement_timestamp()) NULLS FIRST,
                  run_at) AS ranked
     CROSS JOIN LATERAL (
        SELECT id, notified_at FROM compute_job
         WHERE {READY} AND ({_GROUP}) = (ranked.account_id, ranked.bulk, ranked.share_host)
           AND run_at <= statement_timestamp()
         ORDER BY run_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) AS first
     LIMIT 1
), claimed AS (
    UPDATE compute_job SET {leases.taken()}, attempt = attempt + 1, claimed_at = statement_timestamp(),
           ready = false, notified_at = NULL,
           share_slot = (
               SELECT number FROM generate_series(1, (SELECT slots FROM share)) AS number
                WHERE number NOT IN (
                    SELECT taken.share_slot FROM compute_job AS taken
                     WHERE taken.share_host = compute_job.share_host AND taken.share_slot IS NOT NULL)
                ORDER BY random() LIMIT 1)
      FROM chosen WHERE compute_job.id = chosen.id
 RETURNING {JOB_COLUMNS}, chosen.notified_at IS NOT NULL AS was_notified
), {CLAIMED}
"""  # noqa: S608 - of constants


_OTHERS_WAIT = f"""
SELECT EXISTS (
    SELECT FROM compute_job AS other
     WHERE {READY} AND run_at <= statement_timestamp() AND account_id <> %s
       AND NOT EXISTS (
        SELECT FROM compute_job AS busy WHERE busy.share_slot IS NOT NULL AND busy.account_id = other.account_id))
"""  # noqa: S608 - of constants


def claim_next() -> Job | None:
    """Take the lease of the job that is fairest now and count the attempt; None if no job can be claimed.

    A free slot is chosen by chance, so that claims of the same moment seldom choose the same one. The unique
    constraint refuses all but one of those that do.
    """
    values = {
        "lease": settings.JOB_LEASE,
        "horizon": horizon(),
        "longest_bulk_wait": MAX_BULK_WAIT,
        **share_values(),
    }
    for _ in range(RACE_ATTEMPTS):
        try:
            return one_job(_NEXT, values)
        except IntegrityError as error:
            if violated_constraint(error) != "one_job_per_slot":
                raise
    log.warning("no job was claimed: other workers took the slot of its host %s times in a row", RACE_ATTEMPTS)
    return None


def others_wait(job: Job) -> bool:
    """Tell whether another account that has no job at work has a ready job."""
    with connection.cursor() as cursor:
        cursor.execute(_OTHERS_WAIT, [job.account_id])
        [waits] = cursor.fetchone()
    return bool(waits)


def share_values() -> dict[str, float]:
    """Return the parameters of `SHARE`."""
    return {"host_share": settings.JOB_HOST_SHARE, "unknown": UNKNOWN_SLOTS}
