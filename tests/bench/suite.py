"""All measurements of one run, in order. Imported after Django is set up."""

# ruff: noqa: T201  (this module prints its results)

import sys
import time
from functools import partial
from pathlib import Path

from django.db import connections

from tests.bench import check, data, growth, jobs, pages, probes, redis_keys, report, traffic
from tests.bench.databases import Databases
from tests.bench.rounds import Comparison, alternate
from tests.bench.servers import BARE, OURS, server


def run(databases: Databases, folder: Path, *, quick: bool, fresh: bool) -> None:
    """Take all measurements, then print them. The output of the processes goes to files in `folder`."""
    started = time.monotonic()
    sizes = data.Sizes()
    say(f"rows: {sizes.instances:,} instances over {sizes.accounts:,} accounts")
    seed = databases.seeded("_seed", sizes.key, partial(data.fill, sizes=sizes), fresh)
    with databases.copy(seed):
        comparisons = compare_servers(
            sizes, folder / "web.log", rounds=2 if quick else 7, seconds=0.7 if quick else 1.5
        )
    with databases.copy(seed):  # without the jobs of the creates, whose messages are gone
        rates = measure_jobs(folder, count=250 if quick else 800, rounds=2 if quick else 3)
        late = measure_probes(folder, services=300 if quick else 1000, over=18 if quick else 60)
    with databases.copy(seed):
        opened = measure_pages(
            sizes, folder / "pages.log", rounds=20 if quick else 100, seconds=10 if quick else 30
        )
    say("growth: page 1 among 1,000 and among 1,000,000 rows of other accounts")
    grown = growth.measure(databases, folder / "growth.log", turns=15 if quick else 80, seconds=0.1, fresh=fresh)
    say(f"{time.monotonic() - started:.0f} s in all")
    report.show(comparisons, grown, rates, late, opened)


def compare_servers(sizes: data.Sizes, log: Path, *, rounds: int, seconds: float) -> list[Comparison]:
    """Measure lists, retrieves, filtered lists and creates, ours and bare in turns, after a check of equal
    answers."""
    loads = {
        "list": (traffic.lists(sizes), seconds),
        "retrieve": (traffic.retrieves(sizes), seconds),
        # after the reads above, by which each process knows most tokens: unknown tokens share one thread of a
        # lane
        "filtered": (traffic.filtered_lists(sizes), seconds),
        # shorter, because the pools have 30,000 free addresses
        "create": (traffic.creates(sizes), min(seconds, 1.0)),
    }
    comparisons = []
    redis_keys.forget()
    with server(OURS, {}, log) as ours, server(BARE, {}, log) as bare:
        check.same_answers(partial(traffic.ask, ours.port), partial(traffic.ask, bare.port), sizes)
        for name, (requests, length) in loads.items():
            say(f"{name}: {rounds} rounds of {length:g} s for each server in turn")
            comparisons.append(alternate(name, (ours, bare), requests, rounds=rounds, seconds=length))
            say(f"  {comparisons[-1].ratio:.2f}")
    return comparisons


def measure_jobs(folder: Path, *, count: int, rounds: int) -> jobs.JobRates:
    """Measure boot jobs and no-op tasks in turns, on an empty queue."""
    redis_keys.forget()
    say(f"jobs: {rounds} rounds of {count} no-op tasks and {count} boots through two workers")
    try:
        return jobs.measure(folder, jobs=count, rounds=rounds)
    finally:
        connections.close_all()


def measure_probes(folder: Path, *, services: int, over: float) -> probes.Lateness:
    """Measure the checks of 1,000 services a minute, with slow and dead ones among them."""
    redis_keys.forget()
    say(f"probes: {services} services due over {over:g} s, then all at once, through two workers")
    try:
        return probes.measure(folder, services=services, over=over)
    finally:
        connections.close_all()


def measure_pages(sizes: data.Sizes, log: Path, *, rounds: int, seconds: float) -> pages.PageTimes:
    """Measure the times of the customer's pages, and the cost of 500 open ones."""
    redis_keys.forget()
    say(f"pages: {rounds} of each page, then {pages.OPEN} open pages for {seconds:g} s")
    try:
        return pages.measure(sizes, log, rounds=rounds, seconds=seconds)
    finally:
        connections.close_all()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
