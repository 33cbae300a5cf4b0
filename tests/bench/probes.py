"""Whether 1,000 services a minute are checked in time, with slow and dead ones among them.

One prefork worker with two processes checks them over a minute, each due at its own moment. What counts is how long
after it was due a check of a service that answers at once is written, without the time of the answer itself: those
that take their time must not be in its way. Then all are due at the same moment, as after an outage.

All are paths of one server in a process of its own, on the same cores (`tests.bench.watched`).
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
from config.notify import notify
from managed.models import Measurement, Service
from managed.services.probing import GOLDEN, TASK_NAME
from tests.bench import watched
from tests.bench.errors import BenchError
from tests.bench.servers import process, worker
from tests.ports import free_port

ACCOUNTS = 100
SLOW, DEAD = 100, 100
TIMEOUT = 10
"""Seconds that a service has to answer. The slow ones need eight of them, the dead ones all."""
NOTIFY_EVERY = 2.0
"""As the clock does."""
TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Lateness:
    """Seconds between due and written of those that answer at once, and what the workers took of a core meanwhile.

    `rate` is of the same checks when all are due at once: per second, from the first notification to the last
    written.
    """

    services: int
    seconds: list[float]
    cpu: float
    rate: float

    def percentile(self, percent: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)]


def measure(folder: Path, *, services: int, over: float) -> Lateness:
    """Check `services` once each, spread over as many seconds, and then all at once.

    Needs a seeded database. Raises BenchError where a check found anything but the truth.
    """
    log = folder / "probes.log"
    port = free_port()
    settings = {"PROBE_ALLOWED": "127.0.0.0/8", "PROBE_EVERY": "3600"}
    with process(watched.command(port), {}, log), worker(settings, log):
        # warms both processes up: what the first check of a process costs is not what is asked
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
    """Add `count` services over so many accounts: in each thousand SLOW slow and DEAD dead ones."""
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
    """Let all be due, spread over so many seconds from now. Returns when each is."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE managed_service SET next_check_at = statement_timestamp()"
            " + mod((id * %s)::numeric, 1)::float8 * %s * interval '1 second'",
            [GOLDEN, over],
        )
    return dict(Service.objects.values_list("pk", "next_check_at"))


def _check_all(services, what: str, seconds: float = 0) -> float:
    """Notify until each of the services was checked. Returns when that was."""
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
    """Quick and slow ones are up, dead ones are not, and each was checked once."""
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
    """The share of a core that the Celery processes took, as the one item of a list once the block is over."""
    taken: list[float] = []
    begun, before = time.monotonic(), _cpu_seconds()
    yield taken
    taken.append((_cpu_seconds() - before) / (time.monotonic() - begun))


def _cpu_seconds() -> float:
    """Of the worker that this process started, and its children."""
    ours = (child for child in psutil.Process().children(recursive=True) if "celery" in child.cmdline())
    times = [child.cpu_times() for child in ours]
    return sum(each.user + each.system for each in times)
