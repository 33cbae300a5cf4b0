"""Resources change while the clock of usage jumps and workers are killed. Then the month is exported."""

import csv
import io
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from accounts.models import Account
from compute.models import InstanceType, Job, ResourcePrice
from compute.services.common.months import month_of, next_month, start_of
from tests.drill import counting
from tests.drill.client import IMAGE, PASSWORD, REGION, ask
from tests.drill.installation import ROOT, Installation, families, signalled
from tests.drill.report import Report

SMALL, LARGE = "g6-nanode-1", "g6-standard-1"
PRICES = {"volume": ("0.00015", "0.1"), "nodebalancer": ("0.015", "10"), "extra_ipv4": ("0.003", "2")}
TOLERANCE = Decimal("0.02")
"""USD by which an amount may differ: jobs and requests take seconds, and a jump of the clock is read late."""
DONE_SECONDS = 120.0


@dataclass
class Month:
    """A month that is played on an installation whose clock of usage jumps. `hour` is the hour of the month."""

    site: Installation
    file: Path
    token: str
    begins: datetime
    hour: int = 0
    hours: dict[str, list[tuple[int, Decimal]]] = field(default_factory=lambda: defaultdict(list))
    """By line: the hours from which the resource had a quantity."""

    def go_to(self, hour: int) -> None:
        """Set the clock to an hour of the month, and kill the workers, which may work on a job."""
        self.hour = hour
        offset = self.begins + timedelta(hours=hour) - datetime.now(UTC)
        set_clock(self.file, offset.total_seconds())
        for each in families([worker.pid for worker in self.site.workers()]):
            signalled(each, signal.SIGKILL)

    def has(self, line: str, quantity: int) -> None:
        """Note by hand that a line has this quantity from now on."""
        self.hours[line].append((self.hour, Decimal(quantity)))

    def call(self, method: str, path: str, body: dict[str, Any]) -> Any:
        """Send a request until it is answered, for at most two minutes."""
        deadline = time.monotonic() + DONE_SECONDS
        while True:
            status, answer = ask(self.site.port, self.token, method, path, body)
            if status == 200:
                return answer
            if time.monotonic() > deadline:
                raise RuntimeError(f"{method} {path}: {status} {answer}")
            time.sleep(0.5)

    def settle(self) -> None:
        """Wait until all jobs have ended."""
        if counting.settle(DONE_SECONDS):
            raise RuntimeError(f"jobs do not end: {list(Job.objects.filter(finished_at=None))}")


def set_clock(file: Path, seconds: float) -> None:
    """Set the offset of the clock of usage. Each process reads a whole file."""
    partial = file.with_suffix(".partial")
    partial.write_text(f"{seconds:.0f}")
    partial.rename(file)


def play(site: Installation, file: Path, token: str, account: Account, report: Report) -> None:
    """Play the next month, export it, and report each line whose amount is not the one computed by hand.

    `file` has the offset of the clock of usage.
    """
    for kind, (hourly, monthly) in PRICES.items():
        ResourcePrice.objects.update_or_create(pk=kind, defaults={"hourly": hourly, "monthly": monthly})
    month = Month(site, file, token, start_of(next_month(month_of(datetime.now(UTC)))))
    expected = live(month)
    month.go_to(31 * 24 + 3)
    _run(site, "shell", "-c", FREEZE)
    exported = _run(site, "usage", "export", "--month", f"{month.begins:%Y-%m}", "--account", str(account.pk))
    rows = [row for row in csv.DictReader(io.StringIO(exported)) if row["kind"] not in ("backup", "transfer")]
    report.figure("lines of a month", len(rows))
    report.nothing("lines that are not final", [str(row) for row in rows if row["state"] != "final"])
    found: Counter[str] = Counter()
    for row in rows:
        found[f"{row['kind']} {row['label']} {row['type']}".strip().replace("  ", " ")] += Decimal(row["amount"])
    report.nothing(
        "amounts not as computed by hand",
        [
            f"{line}: {found.get(line)} and not {expected.get(line)}"
            for line in sorted(found.keys() | expected.keys())
            if abs(found.get(line, Decimal(-1)) - expected.get(line, Decimal(-1))) > TOLERANCE
        ],
    )
    report.nothing("usage that differs after a month", counting.usage())


FREEZE = "from compute.services.usage.statements import freeze_due; freeze_due()"


def live(month: Month) -> dict[str, Decimal]:
    """Create, change and delete resources in the course of the month. Return the amounts of the lines."""
    month.go_to(2)
    deploy = {"region": REGION, "image": IMAGE, "root_pass": PASSWORD}
    grows = month.call("POST", "/compute/instances", {"label": "grows", "type": SMALL, **deploy})
    goes = month.call(
        "POST", "/compute/instances", {"label": "goes", "type": LARGE, "backups_enabled": True, **deploy}
    )
    volume = month.call("POST", "/volumes", {"label": "data", "size": 20, "region": REGION})
    balancer = month.call("POST", "/nodebalancers", {"label": "balancer", "region": REGION})
    for line in (f"compute grows {SMALL}", f"compute goes {LARGE}", f"compute_backups goes {LARGE}"):
        month.has(line, 1)
    month.has("volume data", 20)
    month.has("nodebalancer balancer", 1)
    month.settle()
    month.go_to(122)
    month.call("POST", f"/compute/instances/{grows['id']}/ips", {"type": "ipv4", "public": True})
    month.has("extra_ipv4", 1)
    month.call("POST", f"/volumes/{volume['id']}/resize", {"size": 50})
    month.has("volume data", 50)
    month.settle()
    month.go_to(200)
    month.call("POST", f"/compute/instances/{grows['id']}/resize", {"type": LARGE})
    month.settle()
    month.has(f"compute grows {SMALL}", 0)
    month.has(f"compute grows {LARGE}", 1)
    month.go_to(300)
    month.call("DELETE", f"/compute/instances/{goes['id']}", {})
    month.has(f"compute goes {LARGE}", 0)
    month.has(f"compute_backups goes {LARGE}", 0)
    month.call("DELETE", f"/nodebalancers/{balancer['id']}", {})
    month.has("nodebalancer balancer", 0)
    month.settle()
    month.go_to(600)
    month.call("DELETE", f"/volumes/{volume['id']}", {})
    month.has("volume data", 0)
    month.settle()
    ends = int((start_of(next_month(month.begins.date())) - month.begins).total_seconds() // 3600)
    return {line: amount_of(line, changes, ends) for line, changes in month.hours.items()}


def amount_of(line: str, changes: list[tuple[int, Decimal]], ends: int) -> Decimal:
    """Return the amount of a line in USD: quantity times hours, at most the monthly price on average."""
    kind, *rest = line.split()
    if kind.startswith("compute"):
        plan = InstanceType.objects.get(pk=rest[-1])
        prices: tuple[Any, Any] = (
            (plan.backup_price_hourly, plan.backup_price_monthly)
            if kind == "compute_backups"
            else (plan.price_hourly, plan.price_monthly)
        )
    else:
        prices = PRICES[kind]
    hourly, monthly = (Decimal(str(price)) for price in prices)
    hours, quantity_hours = 0, Decimal(0)
    for (begins, quantity), (until, _) in zip(changes, [*changes[1:], (ends, Decimal(0))], strict=True):
        hours += until - begins if quantity else 0
        quantity_hours += quantity * (until - begins)
    return min(quantity_hours * hourly, monthly * quantity_hours / hours)


def _run(site: Installation, *arguments: str) -> str:
    """Run a command of the installation, and return its output."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments], cwd=ROOT, env=site.env, capture_output=True, text=True,
        timeout=DONE_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
    return done.stdout
