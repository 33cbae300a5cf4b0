"""The installation of a drill: all processes of ``make serve``, in a state folder and on a disk of its own.

Beside it, there are a worker, a web server and a clock of another host, whose time may jump.
"""

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from config.laptop.embedded import Postgres, Valkey, addresses
from tests.bench.servers import process, served
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 300
STOP_SECONDS = 60
AGAIN = 0.5
LEASE = 5.0
PR_SET_PDEATHSIG = 1

OF_OTHERS = ("DATABASE_URL", "REDIS_URL", "REDIS_PREFIX", "PORT", "STREAM_URL", "SITE_URL", "PRODUCTION")
"""Variables that would lead to another installation, whose database would be restarted and killed."""

SETTINGS = {
    # Work takes a moment, so that a disturbance can meet it.
    "DRIVER_SCALE": "0.05",
    "JOB_DRIVER_TIMEOUT": "2",
    "JOB_SOFT_LIMIT": "3",
    "JOB_HARD_LIMIT": "4",
    "JOB_LEASE": str(LEASE),
    "JOB_BACKOFF": "0.1",
    "JOB_ATTEMPTS": "100",
    "JOB_NOTIFY_PATIENCE": "1",
    # The limits of single calls stay, because they are a part of the defence.
    "RATE_LIMIT_OVERALL": "1000000/60",
    "RATE_LIMIT_ENDPOINT": "1000000/60",
    "RATE_LIMIT_INSTANCE_CREATE": "1000000/60",
    "RDNS_CHECK": "1",
}


class Installation:
    """A server in the folder `state`, with the name servers of `nameserver`. Its log is `log`."""

    def __init__(self, state: Path, log: Path, nameserver: str, settings: Mapping[str, str] = SETTINGS):
        self.state, self.log = state, log
        kept = {name: value for name, value in os.environ.items() if name not in OF_OTHERS}
        self.port = free_port()
        self.env = kept | dict(settings) | {
            "STATE_DIR": str(state),
            "PORT": str(self.port),
            "PROBE_NAMESERVERS": nameserver,
        }  # fmt: skip
        self.postgres, self.valkey = Postgres(state), Valkey(state)
        where = addresses.database(state)
        self.conninfo = make_conninfo(
            host=where["HOST"], port=where["PORT"], user=where["USER"], dbname=where["NAME"]
        )
        self._begins = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:  # other processes write to it too
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True, preexec_fn=_end_with_the_drill,
            )  # fmt: skip

    def wait(self) -> None:
        """Return when the server is ready. Fails with its log if it ends first."""
        deadline = time.monotonic() + START_SECONDS
        while not re.search(r"^token: \w{64}$", self._log_text(), re.MULTILINE):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server does not start:\n{self._log_text()[-4000:]}")
            time.sleep(0.1)

    def _log_text(self) -> str:
        """Return the log since the start of this server. An earlier server of the same state may have written
        to it."""
        return self.log.read_bytes()[self._begins :].decode(errors="replace")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(STOP_SECONDS)

    def answers(self) -> bool:
        """Tell whether the database answers a statement that writes."""
        try:
            with psycopg.connect(self.conninfo, connect_timeout=2) as connection:
                connection.execute("CREATE TEMPORARY TABLE drilled AS SELECT pg_current_xact_id()")
        except psycopg.Error:
            return False
        return True

    def database_is_back(self, seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while not self.answers():
            if time.monotonic() > deadline:
                raise RuntimeError("the database does not come back")
            time.sleep(0.1)

    def workers(self) -> list[psutil.Process]:
        """Return the first process of each Celery worker below ``make serve``."""
        return [each for each in self._children() if _name(each) == "skerry worker"]

    def webs(self) -> list[psutil.Process]:
        """Return the processes that answer requests of the API."""
        (web,) = [each for each in self._children() if _name(each) == "skerry web"] or [None]
        return [] if web is None else [each for each in web.children() if _name(each) == "skerry web"]

    def brokers(self) -> list[psutil.Process]:
        """Return the broker: the server of our state folder. Other servers on the machine have other folders."""
        found = []
        for each in psutil.process_iter(["cmdline", "name"]):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                if "valkey-server" in each.name() and os.path.realpath(each.cwd()) == os.path.realpath(self.state):
                    found.append(each)
        return found

    def _children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()

    @contextmanager
    def elsewhere(self, name: str, more: dict[str, str], *arguments: str, port: int = 0) -> Iterator["Kept"]:
        """Run another process like the child `name` of ``make serve``, with `more` in its variables."""
        # OF_OTHERS stay unset, as the drill has left them: an empty REDIS_PREFIX would name other queues
        kept = Kept([*served(name, port), *arguments], {**self.env, **more}, self.log)
        kept.start()
        try:
            if not kept.up.wait(START_SECONDS):
                raise RuntimeError(f"{name} does not start")
            yield kept
        finally:
            kept.stopping.set()
            kept.join()


class Kept(threading.Thread):
    """A thread that keeps a process running, as a host's supervisor does. A process that ends is started again.

    Under libfaketime processes do end: after a jump the system refuses the time until which Python sleeps.
    """

    def __init__(self, command: list[str], variables: dict[str, str], log: Path):
        super().__init__(daemon=True)
        self.command, self.variables, self.log = command, variables, log
        self.up, self.stopping = threading.Event(), threading.Event()
        self.pid = 0
        self.ended = 0
        """How often the process ended by itself."""

    def run(self) -> None:
        while not self.stopping.is_set():
            with process(self.command, self.variables, self.log) as started:
                self.pid = started.pid
                self.up.set()
                while started.poll() is None and not self.stopping.wait(0.1):
                    pass
            if not self.stopping.wait(AGAIN):
                self.ended += 1


def families(pids: Sequence[int]) -> list[psutil.Process]:
    """Return the processes with these ids and all below them, as far as they still exist."""
    found = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            above = psutil.Process(pid)
            found += [above, *above.children(recursive=True)]
    return found


@contextmanager
def frozen(processes: Sequence[psutil.Process]) -> Iterator[None]:
    """Freeze processes for the length of the block. Afterwards they go on as if no time had passed."""
    try:
        for each in processes:
            signalled(each, signal.SIGSTOP)
        yield
    finally:
        for each in processes:
            signalled(each, signal.SIGCONT)


def signalled(each: psutil.Process, number: signal.Signals) -> bool:
    """Signal a process. Returns whether it still existed."""
    try:
        each.send_signal(number)
    except psutil.NoSuchProcess:
        return False
    return True


def _name(each: psutil.Process) -> str:
    try:
        return each.name()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


def _end_with_the_drill() -> None:
    """Stop the server in order if the drill is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
