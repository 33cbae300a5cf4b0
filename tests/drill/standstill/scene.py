"""The scene of the cases: an installation with two workers and two hosts, a busy customer and a quiet one."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

import psutil

from compute.drivers.simulated import SimulatedDriver
from compute.models import Heartbeat, Host, Instance
from config.db.clock import database_now
from tests.drill.client import REGION
from tests.drill.installation import SETTINGS, Installation
from tests.drill.standstill import driver
from tests.drill.standstill.customers import Customer, at_once, unfinished, wait_for
from tests.drill.standstill.driver import Disturbance

WORKERS = 2
SLOTS = 2 * WORKERS
"""Processes of the workers. Each of them works on one job at a time."""
LATELY = timedelta(seconds=10)
"""The age of the last heartbeat of a worker that runs."""
JOB_PATIENCE = 3.0
OWN_SETTINGS = SETTINGS | {
    "DRIVERS": driver.NAME,
    "JOB_DRIVER_TIMEOUT": "3",
    "JOB_SOFT_LIMIT": "4.5",
    "JOB_HARD_LIMIT": "6",
    "JOB_LEASE": "8",
    # As in production: an outage lasts longer than all attempts together, which are over within four seconds.
    "JOB_ATTEMPTS": "5",
    "JOB_BACKOFF": "0.05",
    "JOB_NOTIFY_PATIENCE": str(JOB_PATIENCE),
    "WATCHDOG_EVERY": "2",
    "PROBE_EVERY": "10",
    "PROBE_ALLOWED": "127.0.0.1/32",
}


@dataclass(frozen=True, slots=True)
class Form:
    """The size of a drill. Only a full drill judges times.

    The numbers are instances of the flood, reboots on a silent host, freezes, rounds of deletions, and turns of
    attachments in a round. `silence` is the number of seconds for which a host is silent.
    """

    flood: int
    reboots: int
    freezes: int
    rounds: int
    turns: int
    silence: float
    judges_times: bool


FULL_RUN = Form(flood=200, reboots=30, freezes=9, rounds=4, turns=4, silence=15, judges_times=True)
QUICK_RUN = Form(flood=50, reboots=10, freezes=5, rounds=1, turns=2, silence=7, judges_times=False)

MAX_QUIET = 64
"""The most instances that the quiet customer creates until each host has one."""


@dataclass
class Scene:
    """The installation and its customers. `crowd` has the instances of the flood, `quiet` one on each host."""

    site: Installation
    form: Form
    crowd: Customer
    quiet: Customer
    disturbance: Disturbance
    hypervisor: SimulatedDriver
    homes: dict[int, int] = field(default_factory=dict)
    """The quiet customer's instances, by the key of their host."""

    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @classmethod
    def of(cls, site: Installation, form: Form) -> "Scene":
        return cls(
            site, form, Customer(site.port, "crowd"), Customer(site.port, "quiet"),
            Disturbance(site.state), SimulatedDriver(site.conninfo, timeout=60),
        )  # fmt: skip

    def name(self, kind: str) -> str:
        """Return a label that is new here."""
        return f"{kind}-{next(self.numbers)}"

    @cached_property
    def hosts(self) -> list[Host]:
        return list(Host.objects.filter(region=REGION).order_by("pk"))

    def workers_seen(self, since: datetime) -> list[int]:
        """Return the process ids of running workers that have written a heartbeat since then.

        A worker of the part before that did not end in time was killed, and has not noted its stop.
        """
        seen = Heartbeat.objects.filter(kind=Heartbeat.Kind.WORKER, stopped=None, seen__gt=since)
        return [pid for pid in seen.values_list("pid", flat=True) if psutil.pid_exists(pid)]

    def create_quiet_instances(self) -> None:
        """Wait for all workers, and create the quiet customer's instances until one runs on each host."""
        begun = database_now() - LATELY
        if not wait_for(lambda: len(self.workers_seen(begun)) == WORKERS):
            raise RuntimeError(f"of {WORKERS} workers {len(self.workers_seen(begun))} started")
        # the emptiest host gets each new instance: as many as the parts before have put on the other hosts
        for number in range(MAX_QUIET):
            pk = self.quiet.create(f"quiet-{number}")
            self.homes.setdefault(Instance.objects.values_list("host_id", flat=True).get(pk=pk), pk)
            if len(self.homes) == len(self.hosts):
                break
        if len(self.homes) < len(self.hosts) or not wait_for(lambda: not unfinished()):
            raise RuntimeError(f"instances cannot be placed on all hosts: {self.homes}, {unfinished()}")

    def crowd_on(self, host: Host) -> list[int]:
        """Return the running instances of the busy customer on this host."""
        found = Instance.objects.filter(account=self.crowd.account_id, host=host, status="running")
        return list(found.order_by("pk").values_list("pk", flat=True))

    def ensure_crowd(self, count: int) -> None:
        """Create instances of the crowd until `count` run on each host, if the flood left fewer."""
        lacking = max(0, *(count - len(self.crowd_on(host)) for host in self.hosts))
        if lacking:
            total = 2 * lacking + 2
            names = [self.name("more") for _ in range(total)]
            at_once([lambda name=name: self.crowd.create(name) for name in names])
            if not wait_for(lambda: not unfinished()):
                raise RuntimeError(f"instances are not created: {unfinished()}")
