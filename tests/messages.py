"""Messages in the queues of the broker, under the prefix of one test. No worker takes them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from kombu.connection import Connection

from config.celery import app
from config.processes import queues

PATIENT = {"socket_connect_timeout": 120, "socket_timeout": 120}
"""Long timeouts, because a machine that is busy with tests may answer later than an installation waits."""


@contextmanager
def own_connection(test: Any) -> Iterator[Connection]:
    """Yield a connection to the broker whose keys belong to one test, with its `settings` fixture."""
    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS | {"global_keyprefix": test.REDIS_PREFIX} | PATIENT
    test.CELERY_BROKER_TRANSPORT_OPTIONS = options
    with Connection(settings.CELERY_BROKER_URL, transport_options=options) as connection:
        yield connection


class Messages:
    """A sender of messages in the platform's form."""

    def __init__(self, connection: Connection, patch: pytest.MonkeyPatch):
        self.connection = connection
        self.patch = patch

    def send(self, queue: str = "celery", priority: int = 0, age: float = 0) -> None:
        """Send a message to a queue, with a time of sending `age` seconds ago."""
        with self.patch.context() as patch:
            patch.setattr("config.celery.time", SimpleNamespace(time=lambda: time.time() - age))
            app.send_task(
                "compute.worker.sweep",
                queue=queue,
                priority=priority,
                connection=self.connection,
                ignore_result=True,
            )


@contextmanager
def messages(test: Any) -> Iterator[Messages]:
    """Yield the sender of one test's messages, with its `settings` fixture."""
    with pytest.MonkeyPatch.context() as patch, own_connection(test) as connection:
        patch.setattr(queues, "TIMEOUT_SECONDS", 120)
        yield Messages(connection, patch)
