"""The processor time of the processes that answer requests: the web server's, PostgreSQL's and Redis's.

Requests per second vary with the other load of the machine. Processor time varies less.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

import psycopg
import redis

SECOND = os.sysconf("SC_CLK_TCK")
"""Clock ticks per second."""
PARENT, GROUP, USER, SYSTEM = 1, 2, 11, 12
"""The positions of these fields in ``/proc/*/stat`` after the command (proc(5))."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of processor time of each kind of process. NaN if it cannot be read."""

    web: float
    database: float
    redis: float

    def __sub__(self, before: "Spent") -> "Spent":
        return Spent(*(now - then for now, then in zip(astuple(self), astuple(before), strict=True)))


class Processor:
    """A reader of the processor time spent so far.

    `group` is the process group of the web server, and `environment` has its variables. If PostgreSQL runs on
    this machine, its processes are found by a connection.
    """

    def __init__(self, group: int, environment: Mapping[str, str]):
        self.group = group
        self.redis = redis.Redis.from_url(environment["REDIS_URL"])
        self.server = _parent_of_session(environment["DATABASE_URL"])

    def spent(self) -> Spent:
        cpu = self.redis.info("cpu")
        return Spent(
            _seconds(lambda fields: int(fields[GROUP]) == self.group),
            _seconds(lambda fields: int(fields[PARENT]) == self.server) if self.server else float("nan"),
            cpu["used_cpu_user"] + cpu["used_cpu_sys"],
        )


def _parent_of_session(url: str) -> int | None:
    """Return the id of the PostgreSQL server's main process, or None if it is on another machine."""
    with psycopg.connect(url) as connection:
        fields = _fields(Path("/proc") / str(connection.info.backend_pid))
        command = Path("/proc") / str(connection.info.backend_pid) / "comm"
        local = fields is not None and command.read_text().startswith("postgres")
        return int(fields[PARENT]) if fields and local else None


def _seconds(wanted: Callable[[list[str]], bool]) -> float:
    return sum(int(each[USER]) + int(each[SYSTEM]) for each in _processes() if wanted(each)) / SECOND


def _processes() -> Iterator[list[str]]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and (fields := _fields(Path(entry))):
            yield fields


def _fields(process: Path) -> list[str] | None:
    """Return the fields of a process after its command, or None if it has ended."""
    try:
        _, _, stat = (process / "stat").read_text().rpartition(") ")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return stat.split()
