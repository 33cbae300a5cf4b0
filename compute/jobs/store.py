"""The statements that move a job on, each of them one conditional UPDATE on the database's clock.

`compute.jobs.claims` chooses the job to claim. `compute.jobs.sweeps` chooses the jobs that workers are notified of.

Each statement matches no row if its worker lost the lease. It also matches no row if another clock, request or
repeated notification was faster. All times are compared with the database's clock, so that workers' clocks need not
agree. If job and event change together, they change in one statement, which is one transaction and one round trip.

Lock order, here and in `compute.jobs.queue`: the job row, then its event, then the instance. Several instances are
locked in the order of their keys; hosts come last.
"""

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import JSONField
from psycopg.types.json import Jsonb

from accounts.models import Event
from compute.models import Instance, Job
from config.db import leases
from config.db.rows import columns_of

_COLUMNS = columns_of(Job)
_JSON = tuple(field.attname for field in Job._meta.concrete_fields if isinstance(field, JSONField))
# Not ``*``: its result changes with each column that a migration adds, and PostgreSQL then refuses the statements
# that workers of the previous release have prepared.
JOB_COLUMNS = ", ".join(f"compute_job.{name}" for name in _COLUMNS)

_HOST = """(
    SELECT jsonb_build_array(h.uuid, h.driver, h.location, h.shared, h.host_key, h.unreachable_since IS NOT NULL)
      FROM compute_instance i JOIN compute_host h ON h.id = i.host_id WHERE i.id = {job}.instance_id)"""
# The address of the host of a job's instance, and whether the host is away. Returned with the job, in place of a
# query for each step.

_NAMED = """(
    SELECT jsonb_build_object('account_id', i.account_id, 'instance', i.label, 'host', h.label)
      FROM compute_instance i JOIN compute_host h ON h.id = i.host_id WHERE i.id = claimed.instance_id)"""
# The names of the job's instance for the log, read once for each run of the job.

_IN_SAME_STEP = "(step, state) = (%(step)s::text, %(state)s::text)"
_STEP_SECONDS = """step_seconds || jsonb_build_object(
               CASE state WHEN 'undoing' THEN 'undo ' ELSE '' END || step,
               GREATEST(0, round(EXTRACT(epoch FROM statement_timestamp() - step_began), 3)))"""
# The seconds at each step that the job has left, including the one that it leaves now. Never below zero, even if
# the clock was set back.

MAX_WAIT = 3600.0
"""The longest wait of a job before it is run again, in seconds."""

CLAIMED = f"""updated_event AS (
    UPDATE accounts_event SET status = 'started', started = statement_timestamp()
      FROM claimed WHERE accounts_event.id = claimed.event_id AND accounts_event.status = 'scheduled'
)
SELECT *, deadline_at < statement_timestamp() AS overdue, {_HOST.format(job="claimed")} AS host, {_NAMED} AS named
  FROM claimed
"""  # noqa: S608 - of constants
"""SQL: the end of a statement that claims a job in the CTE ``claimed``."""

_CLAIM = f"""
WITH claimed AS (
    UPDATE compute_job SET {leases.taken()}, attempt = attempt + 1, claimed_at = statement_timestamp(),
           ready = false, notified_at = NULL
     WHERE id = %(id)s AND state IN ('active', 'undoing') AND {leases.FREE}
 RETURNING {JOB_COLUMNS}
), {CLAIMED}
"""  # noqa: S608 - of constants

_IS_DUE_AT_ONCE = "(ready AND NOT %(keep_lease)s::boolean)"
# A claimed job is not ready, unless it was cancelled or superseded since the claim: then it is due at once.
_GIVEN_BACK = f"""
           lease_until = CASE WHEN %(keep_lease)s::boolean THEN {leases.after("%(lease)s")} END,
           share_slot = CASE WHEN %(keep_lease)s::boolean THEN share_slot END,
           share_host = CASE WHEN %(keep_lease)s::boolean THEN share_host ELSE COALESCE(
               (SELECT i.host_id FROM compute_instance i WHERE i.id = compute_job.instance_id), share_host) END,
           run_at = CASE WHEN {_IS_DUE_AT_ONCE} THEN statement_timestamp() ELSE {leases.after("%(delay)s")} END,
           ready = %(ready)s::boolean OR {_IS_DUE_AT_ONCE},
           notified_at = CASE WHEN %(ready)s::boolean THEN statement_timestamp() END"""  # noqa: S608 - of constants
# A job that is ready again is notified of by the worker that settles it. Its instance may be on another host now.

_SETTLE = f"""
WITH settled AS (
    UPDATE compute_job
       SET state = %(state)s::text, step = %(step)s::text, error = %(error)s,
           data = COALESCE(%(data)s::jsonb, data),
           step_began = CASE WHEN {_IN_SAME_STEP} THEN step_began ELSE statement_timestamp() END,
           step_seconds = CASE WHEN {_IN_SAME_STEP} THEN step_seconds ELSE {_STEP_SECONDS} END,
           attempt = CASE WHEN %(keep_attempt)s::boolean THEN attempt ELSE 0 END,
           {_GIVEN_BACK}
     WHERE id = %(id)s AND {leases.MINE} AND state IN ('active', 'undoing')
 RETURNING {JOB_COLUMNS}
), updated_event AS (
    UPDATE accounts_event
       SET percent_complete = GREATEST(percent_complete, %(percent)s::smallint),
           rate = COALESCE(%(rate)s::text, rate), time_remaining = %(remaining)s::integer
      FROM settled WHERE accounts_event.id = settled.event_id AND %(percent)s::smallint IS NOT NULL
)
SELECT *, deadline_at < statement_timestamp() AS overdue, {_HOST.format(job="settled")} AS host FROM settled
"""  # noqa: S608 - of constants

_FINISH = f"""
WITH finished AS (
    UPDATE compute_job
       SET state = %(state)s::text, error = %(error)s, encrypted = NULL, {leases.GIVEN_BACK}, share_slot = NULL,
           step_seconds = {_STEP_SECONDS},
           finished_at = statement_timestamp()
     WHERE id = %(id)s AND {leases.MINE} AND state IN ('active', 'undoing')
 RETURNING {JOB_COLUMNS}
), updated_event AS (
    UPDATE accounts_event
       SET status = %(event_status)s::text,
           message = CASE %(message)s::text
               WHEN '' THEN message
               WHEN %(superseded)s::text THEN %(message)s::text
               ELSE concat_ws(' ', NULLIF(message, ''), %(message)s::text) END,
           percent_complete = CASE WHEN %(event_status)s::text = 'finished' THEN 100 ELSE percent_complete END,
           duration = EXTRACT(epoch FROM statement_timestamp() - COALESCE(started, statement_timestamp())),
           time_remaining = CASE WHEN %(event_status)s::text = 'finished' THEN 0 END
      FROM finished WHERE accounts_event.id = finished.event_id
), confirmed AS (
    UPDATE compute_instance
       SET status = %(status)s::text, updated = statement_timestamp(),
           booted_config_id = COALESCE(
               (SELECT id FROM compute_config WHERE id = %(booted)s::bigint AND NOT rescue), booted_config_id)
      FROM finished WHERE compute_instance.id = finished.instance_id
       AND compute_instance.status = %(during)s::text AND %(status)s::text IS NOT NULL
)
SELECT * FROM finished
"""  # noqa: S608 - of constants

_LOCK_JOB = "SELECT FROM compute_job WHERE id = %s FOR NO KEY UPDATE"
_LOCK_INSTANCES = "SELECT FROM compute_instance WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"

_LOCK_MINE = f"SELECT FROM compute_job WHERE id = %(id)s AND {leases.MINE} FOR NO KEY UPDATE"
_JOIN = """
UPDATE compute_job SET instance_id = compute_instance.id
  FROM compute_instance
 WHERE compute_job.id = %(id)s AND compute_instance.id = %(instance)s AND compute_instance.status = ANY(%(settled)s)
   AND NOT EXISTS (
    SELECT FROM compute_job AS live
     WHERE live.instance_id = compute_instance.id AND live.id <> %(id)s AND live.state IN ('active', 'undoing'))
"""

_LOCK_VOLUME = "SELECT FROM compute_volume WHERE id = %s FOR NO KEY UPDATE"
_JOIN_VOLUME = """
UPDATE compute_job SET volume_id = %(volume)s
 WHERE id = %(id)s AND NOT EXISTS (
    SELECT FROM compute_job AS live
     WHERE live.volume_id = %(volume)s AND live.id <> %(id)s AND live.state IN ('active', 'undoing'))
"""
_LOCK_HISTORY = """
SELECT FROM compute_job WHERE instance_id = %(instance)s OR source_id = %(instance)s OR id = %(id)s
 ORDER BY id FOR NO KEY UPDATE
"""

_FINISH_EVENT_SEGMENT = """
UPDATE accounts_event
   SET status = 'finished', percent_complete = 100,
       duration = EXTRACT(epoch FROM statement_timestamp() - COALESCE(started, statement_timestamp())),
       time_remaining = 0
 WHERE id = %s
"""

_PROMOTE = """
UPDATE compute_job AS queued
   SET state = 'active', run_at = statement_timestamp(), step_began = statement_timestamp(),
       notified_at = statement_timestamp(),
       deadline_at = statement_timestamp() + (deadline_at - created)
 WHERE state = 'queued' AND NOT EXISTS (
    SELECT FROM compute_job AS live
     WHERE live.instance_id = queued.instance_id AND live.state IN ('active', 'undoing'))
RETURNING id
"""


def claim(job_id: int) -> Job | None:
    """Take the lease of a due job and count the attempt; None when the job is not due, is leased or is finished."""
    return one_job(_CLAIM, {"id": job_id, "lease": settings.JOB_LEASE, "horizon": horizon()})


def advance(
    job: Job, step: str, state: str, *, percent: int | None = None, data: dict[str, Any] | None = None
) -> Job | None:
    """Move the job to `step`, keeping the lease. None when the lease was lost: then nothing was written."""
    return _settle(job, step=step, state=state, percent=percent, data=data, keep_lease=True)


def postpone(
    job: Job,
    seconds: float,
    *,
    error: str = "",
    percent: int | None = None,
    failed: bool = False,
    rate: float | None = None,
    remaining: float | None = None,
) -> Job | None:
    """Release the lease and run the same step again in `seconds`; `failed` keeps counting attempts.

    With a `percent`, the event also shows the `rate` in MB per second, and the seconds `remaining`.
    """
    return _settle(
        job, step=job.step, state=job.state, delay=min(seconds, MAX_WAIT), error=error, percent=percent,
        keep_attempt=failed,
        rate=None if rate is None else f"{rate:.1f} MB/s",
        remaining=None if remaining is None else round(remaining),
    )  # fmt: skip


def finish(
    job: Job,
    *,
    state: str,
    message: str,
    error: str,
    status: str | None,
    during: str | None,
    booted: int | None = None,
) -> Job | None:
    """End the job and its event. If the instance's status is still `during`, set it to `status`.

    `status` None leaves the instance unchanged. `booted` is the profile that the instance runs now, None for no
    change. A rescue's profile is not recorded, so that the next boot uses the profile from before the rescue. A
    clone's source is locked too, because its status is written in the same transaction, which must be open.
    `message` is the reason for the failure. It is added to the message of the event; an empty text adds nothing.
    """
    if job.source_id is not None:
        _lock_both(job)
    return one_job(
        _FINISH,
        {
            "id": job.pk,
            "fence": job.fence,
            "state": state,
            "error": error,
            "message": message,
            "superseded": Event.SUPERSEDED,
            "status": status,
            "during": during,
            "booted": booted,
            "event_status": "finished" if state == Job.State.DONE else "failed",
        },
    )


def _lock_both(job: Job) -> None:
    """Lock the job, then its instance and its source in the order of their keys, as everywhere."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_JOB, [job.pk])
        cursor.execute(_LOCK_INSTANCES, [[job.instance_id, job.source_id]])


def join_instance(job: Job, instance_id: int) -> bool:
    """Make a claimed job on no instance the one job of this instance; False if the instance is busy or the lease is
    lost.

    Runs in a transaction of its own. No other job can begin meanwhile, because `compute.jobs.queue` locks the
    instance.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK_MINE, {"id": job.pk, "fence": job.fence})
        if cursor.fetchone() is None:
            return False
        # before the next statement, which then sees the job of a request that had the lock until now
        cursor.execute(_LOCK_INSTANCES, [[instance_id]])
        cursor.execute(_JOIN, {"id": job.pk, "instance": instance_id, "settled": list(Instance.SETTLED)})
        return cursor.rowcount == 1


def join_volume(job: Job, volume_id: int) -> bool:
    """Make a claimed job the one job of this volume; False if another job has the volume or the lease is lost.

    Runs in a transaction of its own. Requests that begin a job of the volume lock the volume's row first too.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK_MINE, {"id": job.pk, "fence": job.fence})
        if cursor.fetchone() is None:
            return False
        # before the next statement, which then sees the job of a request that had the lock until now
        cursor.execute(_LOCK_VOLUME, [volume_id])
        if cursor.fetchone() is None:
            return False
        cursor.execute(_JOIN_VOLUME, {"id": job.pk, "volume": volume_id})
        return cursor.rowcount == 1


def lock_history(job: Job) -> None:
    """Lock all jobs of the instance, and all jobs that copied it, before the last settle deletes the instance.

    The deletion of a clone and the deletion of its source change the same job: it is locked before both instances.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_HISTORY, {"instance": job.instance_id, "id": job.pk})


def lock_instances(job: Job) -> None:
    """Lock the instances of a job that was just settled, before its callbacks write rows of these instances.

    Requests that write an instance's disks, profiles or addresses lock it first as well.
    """
    if job.instance_id is not None:
        with connection.cursor() as cursor:
            cursor.execute(_LOCK_INSTANCES, [[job.instance_id, job.source_id]])


def finish_event_segment(event_id: int | None) -> None:
    """Finish the event of a segment that has ended; the job goes on with another event."""
    with connection.cursor() as cursor:
        cursor.execute(_FINISH_EVENT_SEGMENT, [event_id])


def promote() -> list[int]:
    """Make the queued jobs of free instances live, and return their ids. Their deadlines count from now."""
    return job_ids(_PROMOTE, {})


def horizon() -> float:
    """Return the number of seconds from now beyond which a job's time counts as passed."""
    return leases.horizon_of(MAX_WAIT, settings.JOB_LEASE)


def _settle(job: Job, **changes: Any) -> Job | None:
    data = changes.pop("data", None)
    values = {
        "id": job.pk,
        "fence": job.fence,
        "lease": settings.JOB_LEASE,
        "delay": 0.0,
        "error": "",
        "percent": None,
        "rate": None,
        "remaining": None,
        "keep_attempt": False,
        "keep_lease": False,
        "ready": not changes.get("keep_lease") and not changes.get("delay"),
        "data": None if data is None else Jsonb(data),
        **changes,
    }
    return one_job(_SETTLE, values)


def one_job(sql: str, params: Mapping[str, Any]) -> Job | None:
    """Return the job that the statement returns, if any: as `Manager.raw`, without its cost at every call."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        row = cursor.fetchone()
        if row is None:
            return None
        values = dict(zip((column.name for column in cursor.description), row, strict=True))
    overdue, host, named = values.pop("overdue", False), values.pop("host", None), values.pop("named", None)
    was_notified = values.pop("was_notified", True)
    for name in _JSON:
        values[name] = json.loads(values[name])
    job = Job.from_db(connection.alias, _COLUMNS, [values[name] for name in _COLUMNS])
    job.overdue = overdue
    job.was_notified = was_notified
    job.host = None if host is None else tuple(json.loads(host))
    job.named = {} if named is None else json.loads(named)
    return job


def job_ids(sql: str, params: Mapping[str, Any]) -> list[int]:
    """Return the first column of the statement's rows."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return [row[0] for row in cursor.fetchall()]
