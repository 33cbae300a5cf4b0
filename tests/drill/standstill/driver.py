"""The simulated hypervisor with slow calls, and with hosts whose calls hang. The setting DRIVERS selects it.

Files in a folder of the state folder control it, so that they act in all processes at once. A call that hangs
sleeps in the worker, like a connection without an answer. It ends as an unanswered call of a real host does.
"""

import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from compute.drivers.base import Address, Options, Unreachable
from compute.drivers.simulated import SimulatedDriver

NAME = "simulated=tests.drill.standstill.driver.DisturbedDriver"
"""The value of DRIVERS that replaces the simulated driver by this one."""
OF_THE_CLOCK = ("powered_off", "usage", "inventory")
"""Calls that no job makes. Only the calls of jobs are slow, so that the clock's tasks stay as they are."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call to a host that hung: its name, and when it began, in seconds since the epoch."""

    name: str
    host: str
    begun: float
    ended: float


class Disturbance:
    """Control over slow calls and silent hosts, for all workers of the installation in `state`."""

    def __init__(self, state: Path):
        self.folder = state / "disturbance"
        self.folder.mkdir(exist_ok=True)
        self.calls_file = self.folder / "calls"

    def slow(self, seconds: float) -> None:
        """Make each call of a job take `seconds` longer. 0 ends it."""
        path = self.folder / "slow"
        if seconds:
            partial = path.with_suffix(".partial")
            partial.write_text(str(seconds))
            partial.rename(path)
        else:
            path.unlink(missing_ok=True)

    def hang(self, host: str) -> None:
        """Make each call to the host with this uuid hang until the driver's time limit, then fail."""
        (self.folder / f"hangs-{host}").touch()

    def answer(self, host: str) -> None:
        """Let the host answer again, including calls that hang already."""
        (self.folder / f"hangs-{host}").unlink(missing_ok=True)

    def seconds(self) -> float:
        with suppress(FileNotFoundError):
            return float((self.folder / "slow").read_text())
        return 0.0

    def hangs(self, host: str) -> bool:
        return (self.folder / f"hangs-{host}").exists()

    def note(self, name: str, host: str, begun: float) -> None:
        """Record a call that hung. Short lines are appended whole, also by concurrent writers."""
        with self.calls_file.open("a") as file:
            file.write(f"{name} {host} {begun:.3f} {time.time():.3f}\n")

    def calls(self) -> list[Call]:
        """Return the calls that hung and have ended."""
        if not self.calls_file.exists():
            return []
        lines = (line.split() for line in self.calls_file.read_text().splitlines())
        return [Call(name, host, float(begun), float(ended)) for name, host, begun, ended in lines]


class DisturbedDriver(SimulatedDriver):
    """A simulated host that may be slow or silent."""

    def __init__(self, options: Options):
        super().__init__(options.conninfo, options.scale, options.timeout)
        self.timeout = options.timeout
        self.disturbance = Disturbance(Path(os.environ["STATE_DIR"]))

    @classmethod
    def connect(cls, address: Address, options: Options) -> Self:
        return _configured(cls, options).at(address)

    def _call(self, query: str, params: tuple) -> Any:
        name = _name(query)
        if name not in OF_THE_CLOCK and (seconds := self.disturbance.seconds()):
            time.sleep(seconds)
        if self.host and self.disturbance.hangs(self.host):
            self._hang(name)
        return super()._call(query, params)

    def _hang(self, name: str) -> None:
        """Sleep to the time limit of the driver. Raises `Unreachable`, unless the host answers again meanwhile."""
        begun = time.time()
        try:
            while time.time() < begun + self.timeout:
                time.sleep(0.1)
                if not self.disturbance.hangs(self.host):
                    return
        finally:
            self.disturbance.note(name, self.host, begun)
        raise Unreachable("The host does not answer.", self.host)


@cache
def _configured(cls: type[DisturbedDriver], options: Options) -> DisturbedDriver:
    return cls(options)


def _name(query: str) -> str:
    found = re.search(r"simulated\.(\w+)\(", query)
    return found[1] if found else ""
