"""Real processes: a broker, workers, a clock and a web server on the test's database."""

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from compute.models import Job
from compute.worker.drivers import anywhere, configured
from config.laptop.embedded import addresses, services
from tests.ports import free_port
from tests.system.server import Server
from tests.waiting import wait_for

ROOT = Path(__file__).resolve().parent.parent.parent
QUICK = {
    "DRIVER_SCALE": "0",
    "JOB_DRIVER_TIMEOUT": "2",
    "JOB_SOFT_LIMIT": "3",
    "JOB_HARD_LIMIT": "4",
    "JOB_LEASE": "5",
    "TRANSACTION_IDLE_LIMIT": "60",  # a busy machine may pause for longer than a lease
    "LOCK_TIMEOUT": "60",
    "JOB_BACKOFF": "0.1",
    "JOB_ATTEMPTS": "50",
    "JOB_SWEEP_EVERY": "0.25",
    "JOB_NOTIFY_PATIENCE": "1",
    "WATCHDOG_EVERY": "1",
    "RATE_LIMIT_OVERALL": "1000000/120",
    "RATE_LIMIT_ENDPOINT": "1000000/60",
    "RATE_LIMIT_INSTANCE_CREATE": "1000000/30",
}


class Fleet:
    """The processes of an installation, which tests start, kill and start again."""

    def __init__(self, env: dict[str, str], state: Path, broker):
        self.env = env | QUICK | {"REDIS_URL": addresses.redis_url(state)}
        self.state = state
        self.broker = broker
        self.workers: list[subprocess.Popen] = []
        self.others: list[subprocess.Popen] = []
        self.port = 0

    def _start(self, *command: str) -> subprocess.Popen:
        log = (self.state / "fleet.log").open("ab")
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT, env=self.env, start_new_session=True, stdout=log, stderr=log,
        )  # fmt: skip

    def worker(self, concurrency: int = 2, application: str = "config") -> subprocess.Popen:
        process = self._start(
            "celery", "-A", application, "worker", "--concurrency", str(concurrency), "-O", "fair",
            "--without-gossip", "--without-mingle",
        )  # fmt: skip
        self.workers.append(process)
        return process

    def beat(self) -> None:
        self.others.append(self._start("celery", "-A", "config", "beat", "-s", str(self.state / "beat")))

    def web(self, workers: int = 1, application: str = "config.rsgi") -> None:
        self.port = free_port()
        self.others.append(
            self._start(
                "granian", "--interface", "rsgi", "--host", "127.0.0.1", "--port", str(self.port),
                "--workers", str(workers), "--workers-kill-timeout", "100", "--http", "1",
                f"{application}:application",
            )
        )  # fmt: skip
        wait_for(self._listens)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill_one(self, rng: random.Random) -> None:
        """Kill a random process that works on jobs, by SIGKILL. Sometimes kill a whole worker, which is then
        replaced."""
        worker = rng.choice(self.workers)
        children = psutil.Process(worker.pid).children() if worker.poll() is None else []
        if not children or rng.random() < 0.2:
            self.workers.remove(worker)
            kill(worker)
            self.worker()
        else:
            with suppress(ProcessLookupError):  # a limit ended it just now
                os.kill(rng.choice(children).pid, signal.SIGKILL)

    def stop(self) -> None:
        for process in (*self.workers, *self.others):
            kill(process)


def kill(process: subprocess.Popen) -> None:
    """Kill a process and all its children, by SIGKILL."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def settled() -> bool:
    """Tell whether every job has ended."""
    return not Job.objects.filter(finished_at=None).exists()


@pytest.fixture
def hypervisor(transactional_db, settings):
    """The simulated hypervisor of the workers. Tests script it, with long timeouts."""
    settings.JOB_DRIVER_TIMEOUT = 600
    driver = configured.at(anywhere("simulated"))
    driver.forget_all()
    driver.clear_faults()
    yield driver
    driver.clear_faults()
    driver.forget_all()
    driver.close()


@pytest.fixture
def fleet(transactional_db, process_env, tmp_path) -> Iterator[Fleet]:
    with services(tmp_path, valkey=True) as [broker]:
        fleet = Fleet(process_env, tmp_path, broker)
        try:
            yield fleet
        finally:
            fleet.stop()
            sys.stdout.write((tmp_path / "fleet.log").read_text(errors="replace")[-20_000:])


@pytest.fixture
def start() -> Iterator:
    """A function that starts a server in a state folder. Servers that a failed test left running are killed."""
    servers = []

    def build(state: Path, **options) -> Server:
        servers.append(Server(state, **options))
        return servers[-1]

    yield build
    for server in servers:
        server.kill()


@pytest.fixture
def make(tmp_path) -> list[str]:
    """The argument of make for an environment in which everything is installed: the tests' own."""
    environ, own = tmp_path / "environ", Path(sys.prefix)
    environ.mkdir()
    for each in own.iterdir():
        (environ / each.name).symlink_to(each)
    for name, lock in ((".installed", "requirements.lock"), (".installed-dev", "requirements-dev.lock")):
        (environ / name).unlink(missing_ok=True)
        (environ / name).write_bytes((ROOT / lock).read_bytes())
    return [f"VENV={environ}"]
