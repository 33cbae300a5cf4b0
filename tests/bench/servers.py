"""The measured processes, started with the commands that ``make serve`` uses."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from config.laptop.serving.children import commands
from config.processes.programs import command_line
from tests.bench.errors import BenchError
from tests.bench.processor import Processor
from tests.ports import free_port

BASE_DIR = Path(__file__).resolve().parents[2]
WORKERS = 2
START_TIMEOUT = 30.0
STOP_TIMEOUT = 10.0
PR_SET_PDEATHSIG = 1

OURS = "config.rsgi:application"
BARE = "tests.bench.bare:application"


def served(name: str, port: int = 0) -> list[str]:
    """Return the command line of one child of ``make serve``: ``web``, ``stream``, ``worker`` or ``clock``."""
    return command_line(*commands(port)[name])


@contextmanager
def process(command: list[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen]:
    """Run `command` for the length of the block. Always stops it and all its children."""
    with log.open("ab") as output:
        started = subprocess.Popen(
            command,
            cwd=BASE_DIR,
            env={**os.environ, **environment},
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
    try:
        yield started
    finally:
        started.terminate()
        with suppress(subprocess.TimeoutExpired):
            started.wait(STOP_TIMEOUT)
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def _end_with_parent() -> None:
    """In the child, ask the kernel for a signal when the benchmark is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Served:
    """A measured server: its port on 127.0.0.1, and the processor time of the processes that answer."""

    port: int
    processor: Processor


@contextmanager
def server(application: str, environment: dict[str, str], log: Path, workers: int = WORKERS) -> Iterator[Served]:
    """Serve `application` for the length of the block. Its output goes to `log`.

    A WSGI application has one thread for each process, as ours has.
    """
    port = free_port()
    *command, _ = served("web", port)
    command[command.index("--workers") + 1] = str(workers)
    if application == BARE:
        command[command.index("--interface") + 1] = "wsgi"
        command += ["--blocking-threads", "1"]
    with process([*command, application], environment, log) as started:
        _wait_for(port, started, log)
        yield Served(port, Processor(started.pid, {**os.environ, **environment}))


@contextmanager
def worker(environment: dict[str, str], log: Path) -> Iterator[None]:
    """Run a Celery worker with two processes, which has the tasks of `tests.bench.worker` besides ours."""
    command = served("worker")
    command[command.index("-A") + 1] = "tests.bench.worker"
    with process(command, environment, log):
        yield


def last_words(log: Path) -> str:
    """Return the end of a log, for an error message."""
    return log.read_text(errors="replace")[-4000:]


def _wait_for(port: int, started: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + START_TIMEOUT
    while time.monotonic() < end and started.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise BenchError(f"the server did not start; its last words:\n{last_words(log)}")
