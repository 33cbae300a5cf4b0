"""All processes of `make serve`, in a state folder and on a port of its own."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from psycopg.conninfo import make_conninfo

from compute.drivers.simulated import SimulatedDriver
from config.laptop.embedded import addresses
from tests.ports import free_port

ROOT = Path(settings.BASE_DIR)
SECONDS = 900
"""Seconds in which an empty database is prepared, on a busy machine."""
PR_SET_PDEATHSIG = 1

OF_THE_TESTS = ("DATABASE_URL", "REDIS_URL", "REDIS_PREFIX", "A", "T", "PATIENCE", "PROMPT_COMMAND")


class LiveServer:
    """The processes of an installation: database, broker, web, worker and clock.

    Its hypervisor needs `scale` of a real one's time. It asks no name server, and has no rate limits. `env` is
    the environment of commands that work on it.
    """

    def __init__(self, folder: Path, scale: float = 0.02):
        self.state = folder / "state"
        self.log = folder / "log"
        kept = {name: value for name, value in os.environ.items() if name not in OF_THE_TESTS}
        self.env = kept | {
            # what a person has: the Python that made the environment, which has no Django
            "PATH": f"{sys.base_prefix}/bin:{os.environ['PATH']}",
            "STATE_DIR": str(self.state),
            "PORT": str(free_port()),
            "DRIVER_SCALE": str(scale),
            "JOB_ATTEMPTS": "50",
            "JOB_BACKOFF": "0.1",
            "PROBE_NAMESERVERS": "127.0.0.1@9",
            "PROBE_DNS_TIMEOUT": "0.1",
            **{f"RATE_LIMIT_{name.upper()}": "1000000/60" for name in settings.RATE_LIMITS},
        }
        self.url = f"http://127.0.0.1:{self.env['PORT']}"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=_end_with_the_tests,
            )  # fmt: skip
        inside = addresses.database(self.state)
        conninfo = make_conninfo(
            host=inside["HOST"], port=inside["PORT"], user=inside["USER"], dbname=inside["NAME"]
        )
        self.hypervisor = SimulatedDriver(conninfo, timeout=SECONDS)

    def wait(self) -> None:
        """Return when it is ready and has printed its `token`. Fails with its log if it ends first."""
        deadline = time.monotonic() + SECONDS
        while not (printed := re.search(r"^token: (\w{64})$", self.log.read_text(), re.MULTILINE)):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)
        self.token = printed[1]

    @contextmanager
    def without_hypervisor(self) -> Iterator[None]:
        """Let no host answer during the block. Jobs are retried again and again, and none ends."""
        self.hypervisor.script("fail", count=None)
        try:
            yield
        finally:
            self.hypervisor.clear_faults()

    def stop(self) -> None:
        self.hypervisor.close()
        self.process.terminate()
        self.process.wait(SECONDS)


def _end_with_the_tests() -> None:
    """Stop the server in order if the tests are killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
