"""The Celery application. It carries notifications and runs the clock. The jobs table is the source of truth."""

import logging.config
import os
import sys
import time
from typing import Any

from celery import Celery, signals
from django.conf import settings
from django.db import close_old_connections
from kombu.transport.redis import Channel

from config.environment.places import ROOT
from config.monitoring import counts
from config.processes import queues, tracing
from config.processes.logging import current_id
from config.processes.starting import warn_at_start

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

reporter = counts.Reporter()
app = Celery("skerry")
# Celery's support of Django put the current folder first on the path. The application's folder belongs there: a
# module ``tags`` in the folder where a command runs would be imported instead of ours.
sys.path[0] = str(ROOT)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["accounts", "compute.worker", "managed"])
# By name: the classes need Django's models, which are not loaded yet.
app.steps["consumer"].add("compute.worker.heartbeats:WorkerHeartbeat")
app.steps["consumer"].add("compute.worker.stopping:ReturnTasks")
# Celery closes each task's database connection, and opening one takes longer than most steps. Here connections live
# as long as they work, as in the web processes: `begin_task` drops a broken one.
app.conf["CELERY_DB_REUSE_MAX"] = sys.maxsize
# kombu requeues unacknowledged messages when it closes a channel. After the broker went away, it does so over a
# connection that it has already taken apart. The worker then dies of an AttributeError instead of reconnecting.
# Notifications need not be requeued: the sweep sends them again, and a worker that is stopped passes them on
# (compute/worker/stopping.py). So it does not warn of messages that it restores, as if any were lost.
Channel.do_restore = False


@signals.setup_logging.connect
def log_as_everywhere(**kwargs: Any) -> None:
    """Configure logging as in the other processes: with a receiver of this signal, Celery does not configure its
    own.
    """
    logging.config.dictConfig(settings.LOGGING)


@signals.worker_init.connect
@signals.beat_init.connect
def warn(**kwargs: Any) -> None:
    warn_at_start()


@signals.worker_process_init.connect
def report_counts(**kwargs: Any) -> None:
    reporter.start()


@signals.worker_process_init.connect
def trace(**kwargs: Any) -> None:
    tracing.start("worker")


@signals.worker_process_shutdown.connect
def report_last_counts(**kwargs: Any) -> None:
    reporter.stop()
    tracing.stop()


@signals.before_task_publish.connect
def note_time(headers: dict[str, Any], **kwargs: Any) -> None:
    """Write the time of sending into each message, so that its age can be read while it waits."""
    headers[queues.SENT] = time.time()


@signals.task_prerun.connect
def begin_task(task_id: str, **kwargs: Any) -> None:
    current_id.set(task_id)
    close_old_connections()


@signals.task_postrun.connect
def end_task(**kwargs: Any) -> None:
    close_old_connections()
    current_id.set("-")
