"""The Celery tasks of compute. The clock sends most of them.

Four tasks work on one row that is due: `advance`, `apply_firewall`, `watch_host` and `reconcile_host`. The
processes that make such a row due, and the clock's sweeps, send these tasks.
"""

from collections.abc import Callable
from typing import Any

from celery import shared_task
from celery.app.task import Task
from django.utils.timezone import now

from compute.services import alarms, consoles, heartbeats, retention
from compute.services.backups import schedule
from compute.services.hosts import drift_records, maintenance, moves
from compute.services.images import images
from compute.services.networking.firewalls import mail_ports
from compute.services.nodebalancers import stats
from compute.services.stats.sampling import thin
from compute.services.usage import comparison, repricing, statements, thresholds
from compute.worker import engine, reconciler, sampling, watchdog
from compute.worker.networking import packet_filters

REPRICING_SECONDS = 20.0
"""Seconds after which the clock's repricing begins no further account. The next run continues."""


def worker_task(**options: Any) -> Callable[[Callable[..., None]], Task]:
    """Register a function as the task ``compute.worker.<name>``. `options` are those of a Celery task.

    The function also has its name of the previous release, ``compute.jobs.<name>``. Processes of that release send
    this name until they are restarted. The next release drops the old name.
    """

    def register(function: Callable[..., None]) -> Task:
        shared_task(name=f"compute.jobs.{function.__name__}", ignore_result=True, **options)(function)
        task: Task = shared_task(name=f"compute.worker.{function.__name__}", ignore_result=True, **options)(
            function
        )
        return task

    return register


@worker_task()
def advance(job_id: int) -> None:
    """Work on the job whose turn it is, which may be another one than `job_id`, the job that the message names."""
    engine.run_next(job_id)


@worker_task()
def apply_firewall(instance_id: int) -> None:
    """Deliver the packet filter of an instance to its host, if it is due."""
    packet_filters.apply(instance_id)


@worker_task(expires=60)
def sweep() -> None:
    """Notify workers of the due jobs and packet filters for which no message waits in the broker.

    The task expires in the queue, so that the clock leaves no backlog while no worker runs. The clock process
    writes the expiry by the time of its host, and a worker compares it with the time of its own host. The times of
    two hosts may differ, so a task must not expire before a minute has passed.
    """
    engine.sweep()
    packet_filters.sweep()


@worker_task(expires=60)
def tell_operator() -> None:
    """Check for failures, and notify the operator."""
    alarms.check_alarms()


@worker_task(expires=60)
def watch() -> None:
    """Notify workers of the hosts to probe, and make the jobs due that waited for a host which answers again."""
    watchdog.start_due()


@worker_task(expires=60)
def watch_host(host_id: int) -> None:
    """Probe one host, and check its instances for machines that are off."""
    watchdog.watch(host_id)


@worker_task(expires=60)
def reconcile() -> None:
    """Notify workers of the hosts to compare with the rows."""
    reconciler.start_due()


@worker_task(expires=60)
def reconcile_host(host_id: int) -> None:
    """Compare one host with the rows, if that is due."""
    reconciler.reconcile(host_id)


@worker_task(expires=60)
def start_moves() -> None:
    """Start the host migrations whose time has come."""
    moves.start_due()


@worker_task(expires=60)
def expire_uploads() -> None:
    """Give up the image uploads that did not arrive in time."""
    images.expire_uploads()


@worker_task(expires=120)
def sample() -> None:
    """Take a sample of every instance's usage, and raise the alerts."""
    sampling.sample()


@worker_task(expires=1800)
def thin_samples() -> None:
    """Average old samples, and delete samples past their retention."""
    thin(now())
    stats.thin(now())


@worker_task(expires=60)
def keep_maintenance() -> None:
    """Stop instances on hosts in maintenance, and boot those that a maintenance stopped, once they are idle."""
    maintenance.keep_up()


@worker_task(expires=60)
def take_backups() -> None:
    """Choose schedules that are left to the platform, and take the automatic backups that are due."""
    schedule.enqueue_due_backups()


@worker_task(expires=120)
def keep_mail_ports() -> None:
    """Write the packet filters whose mail ports differ from their account's state, for example after a new
    setting."""
    mail_ports.keep()


@worker_task(expires=600)
def freeze_statements(after: int = 0) -> None:
    """Write the statements of months that are over. `after` is the account after which a long run continues."""
    statements.freeze_due(after)


@worker_task(expires=600)
def check_thresholds(after: int = 0) -> None:
    """Mail the accounts whose month costs more than their threshold. `after` is as above."""
    thresholds.check_thresholds(after)


@worker_task(expires=600)
def compare_usage() -> None:
    """Compare counters and usage intervals of accounts with their resources, and record the present prices."""
    comparison.compare_some()
    repricing.reprice(REPRICING_SECONDS)


@worker_task(expires=3600)
def delete_old() -> None:
    """Delete old finished jobs (but not their events), ended drift and alarms, old heartbeats, and old console
    sessions."""
    retention.delete_old()
    consoles.delete_old()
    drift_records.delete_old()
    heartbeats.delete_old()
    alarms.delete_old()
