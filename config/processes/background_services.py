"""Background services of web and stream processes: heartbeats, counts, alarms and traces."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

from django.conf import settings
from django.db import connections

from config.db.freeze_detector import freeze_detector
from config.monitoring import counts
from config.processes import tracing
from config.server.periodic import BackgroundService, Periodic
from config.server.sockets import ReadTimeout


class _Traces:
    """Records spans while the process serves. It starts in the process that serves, not in one that forks it."""

    def __init__(self, kind: str):
        self.kind = kind

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        tracing.start(self.kind)

    def stop(self) -> None:
        tracing.stop()


def watch(threads: Executor) -> None:
    """Watch a pool of threads: if the database freezes, all of them may be blocked."""
    freeze_detector.pools.append(threads)


def background_services(kind: str) -> Sequence[BackgroundService]:
    """Return the background services of a process. `kind` is one of `Heartbeat.Kind`."""
    # Imported once Django is set up.
    from compute.services import alarms
    from compute.services.heartbeats import BEAT_SECONDS, Pulse

    def check_alarms() -> None:
        try:
            alarms.check_alarms()
        finally:
            connections.close_all()  # the connection of this thread: none is kept for an occasional query

    pulse, reporter = Pulse(kind), counts.Reporter()
    return [
        _Traces(kind),
        freeze_detector,
        ReadTimeout(settings.ANSWER_TIMEOUT),
        Periodic(BEAT_SECONDS, pulse.beat, pulse.stop),
        Periodic(counts.REPORT_SECONDS, reporter.report, reporter.report),
        Periodic(alarms.CHECK_SECONDS, check_alarms),
    ]
