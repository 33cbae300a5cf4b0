"""The parts of a drill, one after the other, with the findings of each."""

# ruff: noqa: T201  (this module prints its results)

import random
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from accounts.models import Account, User
from accounts.services.tokens import create_token
from compute.drivers.simulated import SimulatedDriver
from tests.drill import counting, limits
from tests.drill.chaos import Chaos
from tests.drill.client import Client, ask
from tests.drill.figures import EXCUSED, Log, doubled, missing
from tests.drill.installation import Installation
from tests.drill.means import Clock, Disk, Skipped
from tests.drill.report import Report
from tests.ports import free_port

CLIENTS = 8
SETTLE = 180.0


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of the chaos, and of the full disk in it."""

    chaos: float
    full: float


FULL_RUN, QUICK_RUN = Times(160, 60), Times(30, 6)


def customer(name: str) -> tuple[Account, str]:
    """Create an account with an unrestricted user. Returns the account and a token of the user."""
    with transaction.atomic():
        account = Account.objects.create(
            company=name, email=f"{name}@example.com", extra_ipv4=6, trust_level="unlimited"
        )
        user = User.objects.create_user(name, f"{name}@example.com", account=account)
        return account, create_token(user, "drill")[1]


def chaos(site: Installation, disk: Disk | None, folder: Path, times: Times, seed: str, report: Report) -> None:
    """Run clients while processes die, stop and lose their time. Then check the final state."""
    hypervisor = SimulatedDriver(site.conninfo, timeout=60)
    hypervisor.all_machines()  # its tables are made by the first call
    counting.watch(site.conninfo)
    log, stopped = Log(), threading.Event()
    tokens = [customer(f"drill-{number}")[1] for number in range(CLIENTS)]
    clock = _clock(folder)
    with ExitStack() as stack:
        port = free_port()
        more = clock.env if clock else {}
        others = [stack.enter_context(site.elsewhere("worker", more, "--hostname", "drill@%h"))]
        web = stack.enter_context(site.elsewhere("web", more, "--workers", "1", port=port))
        beat = stack.enter_context(site.elsewhere("clock", more))
        _until_it_serves(port, tokens[0])
        clients = [
            Client([site.port, site.port, port], token, f"{seed} {number}", log, stopped)
            for number, token in enumerate(tokens)
        ]
        for client in clients:
            client.start()
        done = Chaos(site, log, random.Random(seed), others, disk, clock, times.full)
        try:
            done.run(times.chaos)
        finally:
            stopped.set()
            for client in clients:
                client.join()
        left = counting.settle(SETTLE)
        done.done["ends on the other host"] = sum(each.ended for each in (*others, web, beat))
    summary(report, log, done.done)
    judge(site, hypervisor, sum((client.acknowledged for client in clients), Counter()), left, report)
    hypervisor.close()


def summary(report: Report, log: Log, done: Counter[str]) -> None:
    """Report the figures of disturbances and answers."""
    for name, count in sorted(done.items()):
        report.figure(name, count)
    report.figure("requests", len(log.answers))
    for name, count in log.classes().items():
        report.figure(f"answers {name}", count)
    failures = log.failures()
    for what in EXCUSED:
        report.figure(f"5xx while without {what}", len(failures[what]))
    report.nothing("5xx while all was up", [f"{each.status} {each.what}" for each in failures["up"]])


def judge(
    site: Installation,
    hypervisor: SimulatedDriver,
    acknowledged: Counter[tuple[str, int]],
    left: int,
    report: Report,
) -> None:
    """Report what was lost, doubled or leaked."""
    states = counting.jobs()
    report.figure("jobs accepted", sum(states.values()))
    report.figure("jobs finished", states.get("done", 0))
    report.figure("jobs failed", states.get("failed", 0))
    report.figure("jobs failed because", ", ".join(f"{why}: {count}" for why, count in counting.reasons()))
    report.nothing("jobs unfinished", ["unfinished"] * left)
    lost = missing(acknowledged, counting.events())
    report.nothing("acknowledged and lost", [f"{action} of {entity}: {n}" for (action, entity), n in lost.items()])
    effects = counting.effects(site.conninfo)
    report.figure("steps with an effect", len(effects))
    report.nothing("doubled steps", [f"{count} times {each}" for each, count in doubled(effects)])
    report.nothing("effects of no job", [str(each) for each in counting.stray(effects)])
    report.nothing("leaked things", counting.leaks(hypervisor))
    report.nothing("usage that differs from resources", counting.usage())


def race(site: Installation, report: Report) -> None:
    """Race for the quotas, and report the results."""
    account, token = customer("racer")
    races = limits.race_all(site.port, account, token)
    for each in races:
        report.figure(f"raced {each.name}", each.added)
    report.nothing(
        "limits not exact", [f"{each.name}: {each.added}, {each.statuses}" for each in races if not each.exact]
    )


def _clock(folder: Path) -> Clock | None:
    try:
        return Clock(folder / "clock")
    except Skipped as why:
        print(f"skipped: {why}", flush=True)
        return None


def _until_it_serves(port: int, token: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while ask(port, token, "GET", "/regions")[0] != 200:
        if time.monotonic() > deadline:
            raise RuntimeError("the second web server does not answer")
        time.sleep(0.1)
