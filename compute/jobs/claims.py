"""Claiming jobs: a free slot of a worker takes the ready job that is fairest now. See docs/jobs.md.

A notification only says that there is work. The table decides which work comes first, at the moment of the claim: a
message that was sent earlier may not decide it. A claim visits the accounts in turn and stops at the first one with
a job to claim. For each account on its way and each host of the account's jobs, the claim reads an index entry or
two, however many jobs there are.
"""

import logging

from django.conf import settings
from django.db import IntegrityError, connection

from compute.jobs.store import CLAIMED, JOB_COLUMNS, horizon, one_job
from compute.models import Job
from config.db import leases
from config.db.rows import violated_constraint

log = logging.getLogger(__name__)

UNKNOWN_SLOTS = 4
"""The number of slots that is assumed while no worker has reported its own."""
RACE_ATTEMPTS = 20
"""The most tries of a claim that loses a host's slot to a claim of the same moment."""

READY = "state IN ('active', 'undoing') AND ready AND lease_until IS NULL"
"""SQL: whether a job is among those that workers choose from."""
SHARE = """(
    SELECT GREATEST(1, floor(%(host_share)s::float8 * COALESCE(NULLIF(sum(slots), 0), %(unknown)s::bigint)))::bigint
      FROM compute_heartbeat
     WHERE kind = 'worker' AND 'celery' = ANY(queues) AND stopped IS NULL
       AND seen > statement_timestamp() - interval '30 seconds')"""
"""SQL: the number of slots that the jobs of one host may take. Takes ``host_share`` and ``unknown``."""

_BUSY = "SELECT account_id, share_host, share_slot FROM compute_job WHERE share_slot IS NOT NULL"
# The account whose job was claimed last, of interactive or of bulk jobs. A claim in the future was made before the
# clock was set back.
_LAST = """(
            SELECT account_id FROM compute_job
             WHERE bulk = urgency.bulk AND claimed_at <= statement_timestamp() ORDER BY claimed_at DESC LIMIT 1)"""


def _after(account: str) -> str:
    """SQL: the next account with ready jobs of the urgency; after the last one, the first one."""
    first = f"SELECT min(account_id) FROM compute_job WHERE {READY} AND bulk = urgency.bulk"  # noqa: S608 - of constants
    return f"COALESCE(({first} AND account_id > {account}), ({first}))"


# Accounts without a job in a slot, in turn: first those with interactive jobs. UNION ends the walk where it began.
# Rows are read as they are needed: a claim stops at the first account that has a job to claim.
_IDLE = f"""
        SELECT turn.account_id, urgency.bulk
          FROM (VALUES (false), (true)) AS urgency (bulk) CROSS JOIN LATERAL (
            WITH RECURSIVE turn (account_id) AS (
                SELECT {_after(_LAST)}
                 UNION
                SELECT {_after("turn.account_id")} FROM turn
            )
            SELECT account_id FROM turn) AS turn
         WHERE turn.account_id NOT IN (SELECT account_id FROM busy)"""  # noqa: S608 - of constants


def _hosts(jobs: str) -> str:
    """SQL: a table of the hosts that have a free slot, of the jobs that match the condition `jobs`."""
    return f"""(
        WITH RECURSIVE host (id) AS (
            SELECT min(share_host) FROM compute_job WHERE {jobs}
             UNION ALL
            SELECT (SELECT min(share_host) FROM compute_job WHERE {jobs} AND share_host > host.id)
              FROM host WHERE host.id IS NOT NULL
        )
        SELECT id FROM host WHERE id IS NOT NULL AND id NOT IN (SELECT share_host FROM full_host)) AS host"""  # noqa: S608


_GROUP = f"{READY} AND (account_id, bulk) = (turn.account_id, turn.bulk)"
# If no job waits for a host with a free slot, the claim ends before it visits all accounts.
_NEXT = f"""
WITH busy AS MATERIALIZED (
    {_BUSY}
), share AS MATERIALIZED (
    SELECT {SHARE} AS slots
), full_host AS MATERIALIZED (
    SELECT share_host FROM busy GROUP BY share_host HAVING count(*) >= (SELECT slots FROM share)
), chosen AS (
    SELECT job.id, job.notified_at
      FROM ({_IDLE}
         UNION ALL
        SELECT * FROM (
            SELECT account_id, urgency.bulk
              FROM (SELECT account_id, count(*) AS jobs FROM busy GROUP BY account_id) AS account
             CROSS JOIN (SELECT bulk, {_LAST} AS last FROM (VALUES (false), (true)) AS urgency (bulk)) AS urgency
             ORDER BY jobs, urgency.bulk, account_id <= last, account_id) AS working) AS turn (account_id, bulk)
     CROSS JOIN LATERAL (
        SELECT host.id
          FROM {_hosts(_GROUP)} CROSS JOIN LATERAL (
            SELECT run_at FROM compute_job WHERE {_GROUP} AND share_host = host.id ORDER BY run_at LIMIT 1) AS first
         ORDER BY first.run_at) AS host
     CROSS JOIN LATERAL (
        SELECT id, notified_at FROM compute_job
         WHERE {_GROUP} AND share_host = host.id AND run_at <= statement_timestamp()
         ORDER BY run_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) AS job
     WHERE EXISTS (SELECT FROM {_hosts(READY)})
     LIMIT 1
), claimed AS (
    UPDATE compute_job SET {leases.taken()}, attempt = attempt + 1, claimed_at = statement_timestamp(),
           ready = false, notified_at = NULL,
           share_slot = (
               SELECT number FROM generate_series(1, (SELECT slots FROM share)) AS number
                WHERE number NOT IN (SELECT share_slot FROM busy WHERE busy.share_host = compute_job.share_host)
                ORDER BY random() LIMIT 1)
      FROM chosen WHERE compute_job.id = chosen.id
 RETURNING {JOB_COLUMNS}, chosen.notified_at IS NOT NULL AS was_notified
), {CLAIMED}
"""  # noqa: S608 - of constants

_OTHERS_WAIT = f"""
WITH busy AS MATERIALIZED (
    {_BUSY}
)
SELECT EXISTS (
    SELECT FROM ({_IDLE}) AS turn CROSS JOIN LATERAL (
        SELECT FROM compute_job WHERE {_GROUP} AND run_at <= statement_timestamp() LIMIT 1) AS job
     WHERE turn.account_id <> %s)
"""  # noqa: S608 - of constants


def claim_next() -> Job | None:
    """Take the lease of the job that is fairest now and count the attempt; None if no job can be claimed.

    The statement chooses a free slot of the host at random, so that claims of the same moment seldom choose the
    same slot. If they do, the unique constraint refuses all but one of them.
    """
    values = {
        "lease": settings.JOB_LEASE,
        "horizon": horizon(),
        **share_values(),
    }
    for _ in range(RACE_ATTEMPTS):
        try:
            return one_job(_NEXT, values)
        except IntegrityError as error:
            if violated_constraint(error) != "one_job_per_slot":
                raise
    log.warning("%s claims in a row lost the slot of a host to others", RACE_ATTEMPTS)
    return None


def others_wait(job: Job) -> bool:
    """Whether another account, without a job in a slot, has a ready job."""
    with connection.cursor() as cursor:
        cursor.execute(_OTHERS_WAIT, [job.account_id])
        [waits] = cursor.fetchone()
    return bool(waits)


def share_values() -> dict[str, float]:
    """The parameters of `SHARE`."""
    return {"host_share": settings.JOB_HOST_SHARE, "unknown": UNKNOWN_SLOTS}
