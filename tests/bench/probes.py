"""Measure whether 1,000 services a minute are checked in time, with slow and dead ones among them.

One prefork worker with two processes checks the services over a minute, each due at its own moment. The figure
is the lateness of services that answer at once: the time from due to written, without the answer itself. Slow
services must not delay them. Then all are due at the same moment, as after an outage.

All services are paths of one server in a process of its own, on the same cores (`tests.bench.watched`).
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil
from django.db import connection

from accounts.models import Account
from config.processes.notify import notify
from managed.models import Measurement, Service
from managed.services.probing import GOLDEN_RATIO, TASK_NAME
from tests.bench import watched
from tests.bench.errors import BenchError
from tests.bench.servers import process, worker
from tests.ports import free_port

ACCOUNTS = 100
SLOW, DEAD = 100, 100
TIMEOUT = 10
"""Seconds that a service has to answer. Slow services need eight of them, dead ones use all."""
NOTIFY_EVERY = 2.0
"""The clock's interval in seconds."""
TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Lateness:
    """Seconds from due to written for services that answer at once, and the share of a core that the workers
    used.

    `rate` is the number of checks per second when all are due at once, from the first notification to the last
    write.
    """

    services: int
    seconds: list[float]
    cpu: float
    rate: float

    def percentile(self, percent: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)]


def measure(folder: Path, *, services: int, over: float) -> Lateness:
    """Check `services` services once each, spread over `over` seconds, and then all at once.

    Needs a seeded database. Raises BenchError if a check found a wrong result.
    """
    log = folder / "probes.log"
    port = free_port()
    settings = {"PROBE_ALLOWED": "127.0.0.0/8", "PROBE_EVERY": "3600"}
    with process(watched.command(port), {}, log), worker(settings, log):
        # warms both processes up: the cost of a process's first check is not measured
        add_services(port, 200, accounts=2)
        _make_due(0)
        _check_all(quick_ones(), "warming up")
        Service.objects.all().delete()

        add_services(port, services, accounts=ACCOUNTS)
        due = _make_due(over)
        with _cpu() as cpu:
            _check_all(Service.objects.all(), "the minute", over)
        _check_truth()
        late = list(_lateness(due))

        Measurement.objects.all().delete()
        _make_due(0)
        begun = time.monotonic()
        rate = quick_ones().count() / (_check_all(quick_ones(), "all at once") - begun)
        _check_all(Service.objects.all(), "the rest")
        _check_truth()
    Service.objects.all().delete()
    return Lateness(services, late, cpu[0], rate)


def add_services(port: int, count: int, accounts: int) -> None:
    """Add `count` services to `accounts` accounts: of each thousand, SLOW are slow and DEAD are dead."""
    keys = list(Account.objects.order_by("pk").values_list("pk", flat=True)[:accounts])
    Account.objects.filter(pk__in=keys).update(managed=True)
    slow, dead = count * SLOW // 1000, count * DEAD // 1000
    kinds = ["slow"] * slow + ["dead"] * dead + ["quick"] * (count - slow - dead)
    Service.objects.bulk_create(
        Service(
            account_id=keys[number % len(keys)],
            label=kind,
            service_type="url",
            address=f"http://127.0.0.1:{port}/{kind}",
            body=watched.TEXT,
            timeout=TIMEOUT,
        )
        for number, kind in enumerate(kinds)
    )


def quick_ones():
    return Service.objects.filter(label="quick")


def _make_due(over: float) -> dict[int, datetime]:
    """Make all services due, spread over `over` seconds from now. Returns when each is due."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE managed_service SET next_check_at = statement_timestamp()"
            " + mod((id * %s)::numeric, 1)::float8 * %s * interval '1 second'",
            [GOLDEN_RATIO, over],
        )
    return dict(Service.objects.values_list("pk", "next_check_at"))


def _check_all(services, what: str, seconds: float = 0) -> float:
    """Notify until each of the services was checked. Returns the time of the last check."""
    end = time.monotonic() + seconds + TIMEOUT_SECONDS
    notified = 0.0
    while services.filter(measurements=None).exists():
        if time.monotonic() > end:
            raise BenchError(f"{services.filter(measurements=None).count()} services were not checked in {what}")
        if time.monotonic() - notified >= NOTIFY_EVERY:
            notified = time.monotonic()
            notify(TASK_NAME)
        time.sleep(0.1)
    return time.monotonic()


def _check_truth() -> None:
    """Check that quick and slow services are up, that dead ones are not, and that each was checked once."""
    wrong = Measurement.objects.exclude(service__label="dead").filter(failed=1)
    blind = Measurement.objects.filter(service__label="dead", failed=0)
    if wrong.exists() or blind.exists() or Measurement.objects.count() != Service.objects.count():
        raise BenchError(
            f"{wrong.count()} checks of services that are up failed, {blind.count()} of dead ones did not; "
            f"{Measurement.objects.count()} checks of {Service.objects.count()} services"
        )


def _lateness(due: dict[int, datetime]) -> Iterator[float]:
    found = Measurement.objects.filter(service__label="quick").values_list("service_id", "at", "milliseconds")
    for service, at, milliseconds in found:
        yield (at - due[service]).total_seconds() - milliseconds / 1000


@contextmanager
def _cpu() -> Iterator[list[float]]:
    """Measure the share of a core that the Celery processes used. It is the one item of the list after the
    block."""
    taken: list[float] = []
    begun, before = time.monotonic(), _cpu_seconds()
    yield taken
    taken.append((_cpu_seconds() - before) / (time.monotonic() - begun))


def _cpu_seconds() -> float:
    """Return the CPU seconds of the worker that this process started, and of its children."""
    ours = (child for child in psutil.Process().children(recursive=True) if "celery" in child.cmdline())
    times = [child.cpu_times() for child in ours]
    return sum(each.user + each.system for each in times)
