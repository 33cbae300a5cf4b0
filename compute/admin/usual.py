"""How long jobs usually take, and which live ones take much longer.

The time of a job is that from its creation to its end, with all waiting and retries: what a customer waits.
Finished jobs keep no times of single steps, so it is the kind that is compared, by the 95th percentile of its
newest ones that succeeded. A live job is slow at three times that and a minute more, for kinds that take less than
a second, where enough jobs of its kind have ended; else `overdue` and the deadline are all there is to go by.
"""

from datetime import timedelta

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now

from compute.models import Job

NEWEST = 5_000
"""The newest jobs that are looked at: they are read by the primary key, however many there are."""
ENOUGH = 20
"""Jobs of a kind from which on its usual time means something."""
FACTOR, GRACE = 3, timedelta(minutes=1)

_USUAL = """
SELECT kind, percentile_cont(0.95) WITHIN GROUP (ORDER BY finished_at - created)
  FROM (SELECT kind, state, created, finished_at FROM compute_job ORDER BY id DESC LIMIT %s) AS newest
 WHERE state = 'done' GROUP BY kind HAVING count(*) >= %s
"""


def usual_times() -> dict[str, timedelta]:
    """By kind, the time within which 95 of 100 jobs were done; one query, of no more than `NEWEST` rows."""
    with connection.cursor() as cursor:
        cursor.execute(_USUAL, [NEWEST, ENOUGH])
        return dict(cursor.fetchall())


def limit_of(usual: timedelta) -> timedelta:
    """The age from which on a live job is slow."""
    return usual * FACTOR + GRACE


def slow(usual: dict[str, timedelta]) -> Q:
    """Live jobs that take much longer than others of their kind did. Reads only the small index of live jobs."""
    late = Q(pk__in=[])
    for kind, time in usual.items():
        late |= Q(kind=kind, created__lt=Now() - limit_of(time))
    return Q(state__in=Job.LIVE) & late
