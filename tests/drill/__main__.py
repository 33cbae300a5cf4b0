"""``python -m tests.drill``: disturb, race and attack an installation, and tell what came of it: docs/drills.md."""

# ruff: noqa: T201  (printing is what it is for)

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
from typing import NoReturn

from tests.drill.report import Report

PARTS = ("chaos", "limits", "attacks")


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
        sys.exit(f"what the processes said is in {folder / 'log'}")
    shutil.rmtree(folder)


def drill(folder: Path, arguments: argparse.Namespace) -> Report:
    """The figures of a drill in `folder`, and what failed."""
    from tests.drill.attacks import Silent
    from tests.drill.installation import OF_OTHERS, Installation
    from tests.drill.means import Skipped, disk
    from tests.running import running

    for name in OF_OTHERS:  # before settings are read: nothing of theirs may be touched
        os.environ.pop(name, None)
    with ExitStack() as stack:
        own = None
        try:
            own = stack.enter_context(disk(folder / "disk"))
        except Skipped as why:
            print(f"skipped: {why}", flush=True)
        state = folder / "disk" / "state"
        silent = Silent()
        stack.callback(silent.close)
        site = stack.enter_context(running(Installation(state, folder / "log", f"127.0.0.1@{silent.port}")))
        os.environ |= {"STATE_DIR": str(state), "DJANGO_SETTINGS_MODULE": "config.settings"}
        import django

        django.setup()
        from tests.drill import suite

        times = suite.QUICK if arguments.quick else suite.FULL
        report = Report()
        if "chaos" in arguments.parts:
            said("Chaos")
            suite.chaos(site, own, folder, times, arguments.seed, report)
        if "limits" in arguments.parts:
            said("Limits")
            suite.race(site, report)
        if "attacks" in arguments.parts:
            said("Attacks")
            suite.attack(site, silent, times, report)
        return report


def said(part: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {part}", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.drill", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a look: each thing once, and short")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="these parts alone")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="where chance begins")
    return parser.parse_args()


def end(number: int, frame: FrameType | None) -> NoReturn:
    """Leave by the way of an exception, so that everything started is stopped."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
