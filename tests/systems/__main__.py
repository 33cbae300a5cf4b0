"""``python -m tests.systems``: run README's two commands on other releases of Debian. Needs root and debootstrap.

Only Python's standard library is used: the environment of the tests is made inside each system.
"""

# ruff: noqa: T201  (the progress is for people)

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from tests.systems.chroot import Impossible
from tests.systems.suite import ROOT, check_machine, find_mirror, run

SYSTEMS = ("trixie", "testing")
"""Releases of Debian: 13 with Python 3.13, and the next one with Python 3.14."""


def main() -> None:
    arguments = parse()
    signal.signal(signal.SIGTERM, end)
    try:
        check_machine()
        mirror = arguments.mirror or find_mirror()
    except Impossible as why:
        sys.exit(str(why))
    folder = arguments.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        results = {suite: run(suite, mirror, folder, arguments) for suite in arguments.suites}
    except KeyboardInterrupt:
        sys.exit("Stopped.")
    print()
    for suite, (passed, words) in results.items():
        print(f"{suite}: {'passed' if passed else 'FAILED'}: {words}")
    sys.exit(not all(passed for passed, _ in results.values()))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser("make test-systems", description=__doc__)
    parser.add_argument("suites", nargs="*", default=SYSTEMS, help="releases of Debian (%(default)s)")
    state = Path(os.environ.get("STATE_DIR") or ROOT / ".state")
    parser.add_argument("--folder", type=Path, default=state / "systems", help="for systems, logs and downloads")
    parser.add_argument("--mirror", default="", help="the address of Debian's packages; default: that of apt here")
    parser.add_argument("--port", type=int, default=8668, help="of make serve (%(default)s)")
    parser.add_argument(
        "--package", action="append", default=[], help="another package to install, such as python3.14"
    )
    parser.add_argument("--python", default="python3", help="the Python of both commands (%(default)s)")
    parser.add_argument(
        "--tests", default="", help="arguments of pytest, such as '-k name'; default: all of make test"
    )
    parser.add_argument("--keep", action="store_true", help="keep the systems; the next run replaces them")
    return parser.parse_args()


def end(number: int, frame: object) -> NoReturn:
    """End as after Ctrl-C, so that the clean-up runs."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
