"""How long jobs and their steps usually take, and which live jobs take much longer.

The time of a job runs from its creation to its end, with all waiting and retries, as customers experience it. The
time of a step runs from the moment when the job reaches the step until it leaves the step. Both are compared with
the 95th percentile of the newest jobs of the same kind that succeeded. A live job is slow if its present step, or
the whole job, has taken more than three times that percentile plus one minute.

The time of the step shows a job that hangs while most of its steps are still to come. The time of the job shows a
delay that is spread over many steps, and a slow undo, which has no usual time of its own. If too few jobs have
ended, only `overdue` and the deadline show that a job is slow.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now

from compute.models import Job

MAX_JOBS = 5_000
"""The number of newest jobs that are read, by the primary key, whatever the number of jobs is."""
MIN_JOBS = 20
"""The number of jobs of a kind, or of times of a step, from which a usual time is computed."""
FACTOR, GRACE = 3, timedelta(minutes=1)

_USUAL = """
WITH done AS (
    SELECT kind, step_seconds, EXTRACT(epoch FROM finished_at - created)::float8 AS seconds
      FROM (
        SELECT kind, state, step_seconds, created, finished_at FROM compute_job ORDER BY id DESC LIMIT %(newest)s
      ) AS newest
     WHERE state = 'done'
), times AS (
    SELECT kind, NULL AS step, seconds FROM done
     UNION ALL
    SELECT kind, step.key, step.value::float8 FROM done, jsonb_each_text(step_seconds) AS step
)
SELECT kind, step, percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) * interval '1 second'
  FROM times GROUP BY kind, step HAVING count(*) >= %(enough)s
"""


@dataclass(frozen=True, slots=True)
class Usual:
    """The 95th percentiles of the times: of jobs by kind, of steps by kind and step."""

    jobs: dict[str, timedelta]
    steps: dict[tuple[str, str], timedelta]


def usual_times() -> Usual:
    """The usual times of all kinds and steps; one query, of no more than `MAX_JOBS` rows."""
    with connection.cursor() as cursor:
        cursor.execute(_USUAL, {"newest": MAX_JOBS, "enough": MIN_JOBS})
        rows: list[tuple[str, str | None, timedelta]] = cursor.fetchall()
    return Usual(
        {kind: time for kind, step, time in rows if step is None},
        {(kind, step): time for kind, step, time in rows if step is not None},
    )


def limit_of(usual: timedelta) -> timedelta:
    """The age from which on a live job, or its present step, is slow."""
    return usual * FACTOR + GRACE


def slow(usual: Usual) -> Q:
    """Live jobs that take much longer than usual. Reads only the small index of live jobs."""
    late = Q(pk__in=[])
    for kind, time in usual.jobs.items():
        late |= Q(kind=kind, created__lt=Now() - limit_of(time))
    for (kind, step), time in usual.steps.items():
        late |= Q(state=Job.State.ACTIVE, kind=kind, step=step, step_began__lt=Now() - limit_of(time))
    return Q(state__in=Job.LIVE) & late
