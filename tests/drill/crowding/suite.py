"""Plays the attacks one after the other, on processes as in production, and measures the others' waits."""

# ruff: noqa: T201  (this module prints its results)

import resource
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tests.drill import attacks
from tests.drill.client import ask
from tests.drill.crowding import copies, filters, large_answers, locked_rows, passwords, unread
from tests.drill.crowding.attacker import Attack, Attacker, Form
from tests.drill.crowding.load import api
from tests.drill.crowding.others import Others, Waited
from tests.drill.figures import FLOOR, bound
from tests.drill.installation import Installation
from tests.drill.report import Report
from tests.drill.standstill.customers import Customer, wait_for
from tests.ports import free_port

OTHERS = 4
WARM_UP = 2.0
CALM_WITHIN = 60.0
"""The longest wait in seconds until the service is quiet again after an attack."""
OWN_SETTINGS = {"PROBE_ALLOWED": "127.0.0.1/32", "DOMAIN_IMPORT_TIMEOUT": "5"}
"""Settings of the web processes. They allow the name servers of the drill, and imports of large domains."""
ATTACKS: dict[str, Attack] = {
    **attacks.ATTACKS,
    "passwords": passwords.guess,
    "filters": filters.contains,
    "clones": copies.clone,
    "zone imports": copies.import_zones,
    "locked account": locked_rows.account,
    "locked instance": locked_rows.instance,
    "unread answers": unread.document,
    "grants": large_answers.grants,
    "staff pages": large_answers.staff,
}
WITHOUT_LIMIT = ("staff pages",)
"""Attacks that are measured but may be noticed: docs/drills.md says why."""
LOCKING = ("locked account", "locked instance")
"""Attacks during which others are measured for as long as a row is locked."""


class Sender(Protocol):
    """An attacker that counts the statuses of the answers."""

    sent: Counter[str]


A = TypeVar("A", bound=Sender)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The others' waits right before an attack and during it, and the statuses of the attacker's answers."""

    quiet: Waited
    waited: Waited
    sent: Counter[str]

    @property
    def limit(self) -> float:
        """The highest 99th percentile, in seconds, of the others' waits."""
        return bound(self.quiet.p99)

    @property
    def noticed(self) -> bool:
        return not self.waited.passes(self.quiet)

    @property
    def refused(self) -> dict[int, int]:
        """The number of answers to the others, before and during the attack, by each status but 200."""
        both = self.quiet.statuses + self.waited.statuses
        return {status: count for status, count in sorted(both.items()) if status != 200}

    def __str__(self) -> str:
        ms = [f"{each * 1000:.0f}" for each in (self.quiet.p50, self.quiet.p99, self.waited.p50, self.waited.p99)]
        return (
            f"{ms[0]} / {ms[1]} -> {ms[2]} / {ms[3]} ms, limit {self.limit * 1000:.0f}; "
            f"others {dict(self.waited.statuses)}, attacker {self.answers}"
        )

    @property
    def answers(self) -> str:
        return ", ".join(f"{key}: {count}" for key, count in sorted(self.sent.items()))


def play(site: Installation, silent: int, form: Form, names: Collection[str], report: Report) -> None:
    """Play these attacks, in the order of `ATTACKS`, each by a customer of its own.

    All requests go to a web server besides that of `make serve`. In a full drill it has four processes, and there
    is a second worker.
    """
    _raise_the_limit_of_files()
    port = free_port()
    with ExitStack() as stack:
        web = stack.enter_context(site.elsewhere("web", OWN_SETTINGS, "--workers", str(form.processes), port=port))
        for number in range(form.workers):
            stack.enter_context(site.elsewhere("worker", {}, "--hostname", f"drill-{number}@%h"))
        others = stack.enter_context(closing(Others(port, _calls(port))))
        others.measured(WARM_UP)
        late, refused, broken = [], [], []
        for name in [each for each in ATTACKS if each in names]:
            begun = time.monotonic()
            outcome = attacked(
                others.measured, form, ATTACKS[name],
                lambda name=name: Attacker(site, port, web.pid, silent, form, name),
                form.lock_seconds if name in LOCKING else form.during,
                1 if name in WITHOUT_LIMIT else form.tries,
            )  # fmt: skip
            print(f"  {name}: {outcome}; {time.monotonic() - begun:.0f} s", flush=True)
            _tell(report, name, outcome)
            if outcome.refused:
                refused.append(f"{name}: {outcome.refused}")
            if outcome.sent["500"]:
                broken.append(f"{name}: {outcome.answers}")
            if outcome.noticed and name not in WITHOUT_LIMIT:
                late.append(f"{name}: {outcome}")
    report.nothing("attacks with errors for others", refused)
    report.nothing("attacks answered 500", broken)
    if form.judges_times:
        report.nothing("attacks that others notice", late)


def attacked(
    measured: Callable[[float], Waited],
    form: Form,
    attack: Callable[[A], AbstractContextManager[None]],
    attackers: Callable[[], A],
    seconds: float,
    tries: int,
) -> Outcome:
    """Measure the others' waits before and during an attack by one of `attackers`.

    If the others notice the attack, play it again with another attacker, at most `tries` times in all.
    """
    for _ in range(tries):
        attacker = attackers()
        prepared = attack(attacker)
        if form.judges_times:
            _calm(measured)
        quiet = measured(form.quiet)
        with prepared:
            waited = measured(seconds)
        outcome = Outcome(quiet, waited, attacker.sent)
        if not outcome.noticed:
            break
    return outcome


def _calm(measured: Callable[[float], Waited]) -> None:
    """Wait until half of the others' requests are answered within `FLOOR`: the last attack may have left work."""
    deadline = time.monotonic() + CALM_WITHIN
    while measured(0.5).p50 > FLOOR and time.monotonic() < deadline:
        pass


def _calls(port: int) -> list[bytes]:
    """Return the requests of the others, four customers in turn: lists, a domain and a new record."""
    if not wait_for(lambda: ask(port, "none", "GET", "/regions")[0]):
        raise RuntimeError("the web server of the attacks does not answer")
    found = []
    for number in range(OTHERS):
        customer = Customer(port, f"other-{number}")
        body = {"domain": f"other-{number}.example.com", "type": "master", "soa_email": "dns@example.com"}
        domain = customer.ask("POST", "/domains", body)["id"]
        record = {"type": "A", "name": "www", "target": "203.0.113.7"}
        found.append(
            [
                api(customer.token, "GET", "/compute/instances"),
                api(customer.token, "GET", f"/domains/{domain}"),
                api(customer.token, "POST", f"/domains/{domain}/records", record),
                api(customer.token, "GET", "/domains"),
            ]
        )
    return [request for turn in zip(*found, strict=True) for request in turn]


def _tell(report: Report, name: str, outcome: Outcome) -> None:
    for kind, waited in (("quiet ", outcome.quiet), ("", outcome.waited)):
        report.figure(f"{name} {kind}p50", f"{waited.p50 * 1000:.1f}")
        report.figure(f"{name} {kind}p99", f"{waited.p99 * 1000:.1f}")
    report.figure(f"{name} limit", f"{outcome.limit * 1000:.1f}")
    report.figure(f"{name} sent", outcome.answers)


def _raise_the_limit_of_files() -> None:
    """Raise the limit of open files as far as possible, for this process and the servers that it starts."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
