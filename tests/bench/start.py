"""The start of ``make serve``: seconds until it is ready, memory at rest, and the first requests."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil

from tests.bench.databases import BASE_DIR
from tests.bench.errors import BenchError
from tests.ports import free_port

WARM_STARTS = 5
REST_SECONDS = 5.0
"""Seconds without requests before the memory is measured."""
END = "/account/users/restricted/grants"
"""The end of the text that a start prints."""
OF_OTHERS = ("DATABASE_URL", "REDIS_URL", "SITE_URL", "STREAM_URL", "PRODUCTION")
MIB = 2**20


@dataclass
class Start:
    """The figures of one start: seconds until it was ready, MiB at rest, and milliseconds of first requests."""

    seconds: float
    memory: float
    requests: dict[str, float] = field(default_factory=dict)


def run(folder: Path) -> None:
    """Start on an empty state folder, then several times on the same folder, and print the medians."""
    state = folder / "state"
    first = measured(state)
    warm = [measured(state) for _ in range(WARM_STARTS)]
    print(f"first start: {first.seconds:.1f} s")  # noqa: T201
    print(f"warm start: {median(each.seconds for each in warm):.1f} s")  # noqa: T201
    print(f"memory at rest: {median(each.memory for each in warm):.0f} MiB (PSS, without database and broker)")  # noqa: T201
    for path in warm[0].requests:
        print(f"first {path}: {median(each.requests[path] for each in warm):.0f} ms")  # noqa: T201


def measured(state: Path) -> Start:
    with server(state) as (process, port, seconds, text):
        time.sleep(REST_SECONDS)
        start = Start(seconds, memory(process.pid))
        token = re.findall(r"^token: (\w+)$", text, re.MULTILINE)[0]
        for path in ("/v4/compute/instances", "/docs"):
            start.requests[path] = milliseconds(f"http://127.0.0.1:{port}{path}", token)
        return start


@contextmanager
def server(state: Path) -> Iterator[tuple["subprocess.Popen[str]", int, float, str]]:
    """Run ``manage.py serve`` for the length of the block. Yields its process, its port, the seconds until it was
    ready, and its output.
    """
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if name not in OF_OTHERS}
    environment |= {"STATE_DIR": str(state), "PORT": str(port), "SERVE_BEGAN": str(time.time())}
    command = [sys.executable, "manage.py", "serve"]
    process = subprocess.Popen(command, cwd=BASE_DIR, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        text = ""
        while END not in text:
            line = process.stdout.readline() if process.stdout else ""
            if not line:
                raise BenchError(f"make serve ended:\n{text}")
            text += line
        yield process, port, float(re.findall(r"Ready after (\S+) s", text)[0]), text
    finally:
        process.terminate()
        process.communicate()


def memory(pid: int) -> float:
    """Return the MiB of a process and all processes below it. Shared memory is divided among its users."""
    first = psutil.Process(pid)
    return sum(each.memory_full_info().pss for each in (first, *first.children(recursive=True))) / MIB


def milliseconds(url: str, token: str) -> float:
    began = time.perf_counter()
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()
    return (time.perf_counter() - began) * 1000
