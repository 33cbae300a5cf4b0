"""The consumer of a worker. After an outage of the broker, it reconnects within a few seconds."""

from functools import partial
from typing import Any

from celery.worker import consumer
from django.conf import settings
from kombu import Connection

FIRST_PAUSE_SECONDS = 1
MAX_PAUSE_SECONDS = 4
"""The longest pause between attempts to connect. Celery's own pauses grow to half a minute, which would delay the
workers after a broker's outage."""


class Consumer(consumer.Consumer):
    """Takes messages from the broker for one worker."""

    def connection_for_read(self, heartbeat: Any = None) -> Connection:
        """Return a connection without the short time limits of processes that send notifications."""
        options = settings.WORKER_BROKER_OPTIONS
        return self.ensure_connected(self.app.connection_for_read(heartbeat=heartbeat, transport_options=options))

    def ensure_connected(self, conn: Connection) -> Connection:
        """Connect, however long that takes, with frequent attempts."""
        conn.ensure_connection = partial(  # type: ignore[method-assign]
            conn.ensure_connection,
            interval_start=FIRST_PAUSE_SECONDS,
            interval_step=FIRST_PAUSE_SECONDS,
            interval_max=MAX_PAUSE_SECONDS,
        )
        return super().ensure_connected(conn)
