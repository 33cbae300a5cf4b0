"""Run workers and the clock, for tests that need a finished job."""

from contextlib import suppress
from datetime import datetime
from typing import cast

from django.db import connection
from django.db.models.functions import Now

from compute.models import Instance, Job
from compute.worker import engine
from compute.worker.drivers import Drivers
from tests.compute.memory_driver import CountingDriver, MemoryDriver, WorkerDied

ROUNDS = 40


def work(job: Job, driver: MemoryDriver | CountingDriver | Drivers) -> Job:
    """Run the job whenever it is not finished, as if each wait, backoff and lease were over."""
    for _ in range(ROUNDS):
        with suppress(WorkerDied):  # the next round finds the lease run out
            engine.run(job.pk, cast(Drivers, driver))
        job.refresh_from_db()
        if job.finished_at is not None:
            return job
        Job.objects.filter(pk=job.pk).update(run_at=Now(), lease_until=None)
    raise AssertionError(f"{job} does not end: {job.state} at {job.step}, {job.error}")


def work_through(job: Job, driver: MemoryDriver | CountingDriver) -> Job:
    """Run the job like `work`, and then the jobs that it began."""
    work(job, driver)
    while begun := Job.objects.filter(pk__gt=job.pk, finished_at=None).first():
        work(begun, driver)
    return job


def finish(instance: Instance, driver: MemoryDriver) -> Job:
    """Run the instance's live job to its end, and refresh the instance."""
    job = work(instance.jobs.get(finished_at=None), driver)
    instance.refresh_from_db()
    return job


def clock() -> datetime:
    """Return the present time of the database's clock, which timers and leases use."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
