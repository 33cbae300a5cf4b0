"""Rows of ready jobs without instances, for tests of claims."""

import itertools
from datetime import timedelta

from django.db.models.functions import Now

from compute.jobs import claims
from compute.models import Heartbeat, Job

FLOOD, QUIET = 1, 2
"""Two accounts."""
_hosts = itertools.count(100)


def ready(account: int, *, bulk: bool = False, host: int | None = None, waited: float = 1) -> Job:
    """Create a job that has been ready for `waited` seconds, on a host of its own unless one is given."""
    return Job.objects.create(
        kind="boot", step="start", account_id=account, bulk=bulk, share_host=next(_hosts) if host is None else host,
        run_at=Now() - timedelta(seconds=waited), notified_at=Now(), deadline_at=Now() + timedelta(hours=1),
    )  # fmt: skip


def claimed() -> int | None:
    """Claim the next job, and return its id."""
    job = claims.claim_next()
    return None if job is None else job.pk


def worker(**columns) -> None:
    """Create a worker that runs."""
    values = {"kind": "worker", "hostname": "a", "pid": 1, "version": "1", "queues": ["celery", "clock"], **columns}
    Heartbeat.objects.create(**values)
