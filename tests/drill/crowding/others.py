"""The others: customers who do not attack. They send small requests at a steady rate, from their own process.

``python -m tests.drill.crowding.others PORT`` reads the requests as a line of JSON. Then it reads lines with the
seconds of a measurement, and answers each of these with a line of JSON.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from tests.drill.crowding.load import IDLE, Load
from tests.drill.figures import bound, percentile

ROOT = Path(__file__).resolve().parents[3]
PAUSE_SECONDS = 0.025
"""Seconds from one request to the next, of all customers together."""
PRIORITY = -10
"""The niceness of the process, if it may set one. On a busy machine, the process then measures the service and not
its own wait for a processor."""


@dataclass
class Waited:
    """The seconds that others waited, and the statuses of their answers."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def p50(self) -> float:
        return percentile(self.seconds, 0.5)

    @property
    def p99(self) -> float:
        return percentile(self.seconds, 0.99)

    @property
    def served(self) -> bool:
        """Tell whether all requests were answered 200."""
        return set(self.statuses) == {200}

    def passes(self, quiet: "Waited") -> bool:
        """Tell whether all answers are 200, and the 99th percentile is within `bound` of the quiet one."""
        return self.served and self.p99 <= bound(quiet.p99)


class Others:
    """The process that sends these requests, in turn, to the server at `port`."""

    def __init__(self, port: int, requests: Sequence[bytes]):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.drill.crowding.others", str(port)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._write([each.decode("latin-1") for each in requests])

    def _write(self, value: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def measured(self, seconds: float) -> Waited:
        """Send requests for `seconds`. Return when all are answered. Raises RuntimeError if the process ended."""
        self._write(seconds)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the process that sends the requests of others has ended")
        found = json.loads(line)
        return Waited([each for each, _ in found], Counter(status for _, status in found))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def main() -> None:
    with suppress(PermissionError):
        os.nice(PRIORITY)
    load = Load(int(sys.argv[1]), idle=IDLE)
    requests = cycle([each.encode("latin-1") for each in json.loads(sys.stdin.readline())])
    for line in sys.stdin:
        found = load.send(requests, PAUSE_SECONDS, json.loads(line))
        sys.stdout.write(json.dumps([[each.seconds, each.status] for each in found]) + "\n")
        sys.stdout.flush()
    load.close()


if __name__ == "__main__":
    main()
