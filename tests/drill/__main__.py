"""``python -m tests.drill``: disturb, race and attack an installation, and tell what came of it: docs/drills.md."""

# ruff: noqa: T201  (this module prints its results)

import argparse
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from tests.drill.report import Report

if TYPE_CHECKING:
    from tests.drill.attacks import Silent
    from tests.drill.means import Disk

PARTS = ("chaos", "limits", "attacks", "month", "standstill")
CASES = ("flood", "freezes", "silence", "outage", "deletions")
ATTACKS = (
    "pictures", "services", "imports", "reverse names", "uploads", "bodies", "passwords", "filters", "clones",
    "zone imports", "locked account", "locked instance", "unread answers", "grants", "staff pages",
)  # fmt: skip


def main() -> None:
    arguments = parse()
    signal.signal(signal.SIGTERM, end)
    print(f"seed {arguments.seed}: --seed repeats what it draws", flush=True)
    begun = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="skerry-drill-"))
    report = drill(folder, arguments)
    print(f"\n{time.monotonic() - begun:.0f} s in all\n")
    for line in report.lines():
        print(line)
    if report.failures:
        sys.exit(f"the output of the processes is in {folder / 'log'}")
    shutil.rmtree(folder)


def drill(folder: Path, arguments: argparse.Namespace) -> Report:
    """Run a drill in `folder`, and return its figures and failures."""
    from tests.drill.installation import OF_OTHERS
    from tests.drill.means import Disk, Skipped, disk

    for name in OF_OTHERS:  # before settings are read: no other installation may be touched
        os.environ.pop(name, None)
    with ExitStack() as stack:
        own: Disk | None = None
        try:
            own = stack.enter_context(disk(folder / "disk"))
        except Skipped as why:
            print(f"skipped: {why}", flush=True)
        state = folder / "disk" / "state"
        os.environ |= {"STATE_DIR": str(state), "DJANGO_SETTINGS_MODULE": "config.settings"}
        import django

        django.setup()
        from tests.drill.attacks import Silent

        silent = Silent()
        stack.callback(silent.close)
        report = Report()
        if set(arguments.parts) - {"month", "standstill"}:
            disturb(state, own, folder, silent, arguments, report)
        if "month" in arguments.parts:
            live_a_month(state, folder, silent, report)
        if "standstill" in arguments.parts:
            stand_still(state, folder, silent, arguments, report)
        return report


def disturb(
    state: Path, own: "Disk | None", folder: Path, silent: "Silent", arguments: argparse.Namespace, report: Report
) -> None:
    """Run chaos, races and attacks, on an installation that gives no job up."""
    from tests.drill import suite
    from tests.drill.crowding import attacker
    from tests.drill.crowding import suite as crowding
    from tests.drill.installation import Installation
    from tests.running import running

    times = suite.QUICK_RUN if arguments.quick else suite.FULL_RUN
    with running(Installation(state, folder / "log", f"127.0.0.1@{silent.port}")) as site:
        if "chaos" in arguments.parts:
            announce("Chaos")
            suite.chaos(site, own, folder, times, arguments.seed, report)
        if "limits" in arguments.parts:
            announce("Limits")
            suite.race(site, report)
        if "attacks" in arguments.parts:
            announce("Attacks")
            form = attacker.QUICK_RUN if arguments.quick else attacker.FULL_RUN
            crowding.play(site, silent.port, form, arguments.attacks, report)


def live_a_month(state: Path, folder: Path, silent: "Silent", report: Report) -> None:
    """Play a month, on an installation whose clock of usage jumps."""
    from django.db import connections

    from tests.drill.installation import SETTINGS, Installation
    from tests.drill.month import scene
    from tests.drill.month.apps import VARIABLE
    from tests.drill.suite import customer
    from tests.running import running

    connections.close_all()  # connections to the earlier installation's database, which has ended
    file = folder / "usage-clock"
    scene.set_clock(file, 0)
    own = {**SETTINGS, VARIABLE: str(file), "DJANGO_SETTINGS_MODULE": "tests.drill.month.settings"}
    with running(Installation(state, folder / "log", f"127.0.0.1@{silent.port}", own)) as site:
        announce("A month")
        account, token = customer("billed")
        scene.play(site, file, token, account, report)


def stand_still(state: Path, folder: Path, silent: "Silent", arguments: argparse.Namespace, report: Report) -> None:
    """Run the cases of a standstill, on an installation that gives jobs up as in production."""
    from django.db import connections

    from tests.drill.installation import Installation
    from tests.drill.standstill import scene, suite
    from tests.running import running

    connections.close_all()  # connections to the earlier installation's database, which has ended
    with running(Installation(state, folder / "log", f"127.0.0.1@{silent.port}", scene.OWN_SETTINGS)) as site:
        announce("Standstill")
        suite.play(site, scene.QUICK_RUN if arguments.quick else scene.FULL_RUN, arguments.cases, report)


def announce(part: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {part}", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.drill", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="run each part once and briefly")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="run only these parts")
    parser.add_argument(
        "--cases", nargs="+", choices=CASES, default=CASES, help="run only these cases of a standstill"
    )
    parser.add_argument("--attacks", nargs="+", choices=ATTACKS, default=ATTACKS, help="run only these attacks")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="seed of the random numbers")
    return parser.parse_args()


def end(number: int, frame: FrameType | None) -> NoReturn:
    """Raise an exception to exit, so that all started processes are stopped."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
