"""The simulated hypervisor with slow calls, and with hosts whose calls hang; workers find it by DRIVERS.

Files in a folder of the state folder say which: they act in all processes at once. A call that hangs sleeps in the
worker, as a connection without an answer does, and ends as an unanswered call of a real host does.
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
"""The value of DRIVERS that puts this driver in the place of the simulated one."""
OF_THE_CLOCK = ("powered_off", "usage", "inventory")
"""Calls that no job makes. Slow calls are those of jobs only, so that the clock's tasks stay as they are."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call to a host that hung: its name, and when it began, in seconds since the epoch."""

    name: str
    host: str
    begun: float
    ended: float


class Disturbance:
    """Says which calls are slow and which hosts hang, for all workers of the installation in `state`."""

    def __init__(self, state: Path):
        self.folder = state / "disturbance"
        self.folder.mkdir(exist_ok=True)
        self.calls_file = self.folder / "calls"

    def slow(self, seconds: float) -> None:
        """Let each call of a job take so much longer; 0 for no longer."""
        path = self.folder / "slow"
        if seconds:
            partial = path.with_suffix(".partial")
            partial.write_text(str(seconds))
            partial.rename(path)
        else:
            path.unlink(missing_ok=True)

    def hang(self, host: str) -> None:
        """Let each call to the host with this uuid hang until the driver's time limit, then fail."""
        (self.folder / f"hangs-{host}").touch()

    def answer(self, host: str) -> None:
        """Let the host answer again, calls that hang already included."""
        (self.folder / f"hangs-{host}").unlink(missing_ok=True)

    def seconds(self) -> float:
        with suppress(FileNotFoundError):
            return float((self.folder / "slow").read_text())
        return 0.0

    def hangs(self, host: str) -> bool:
        return (self.folder / f"hangs-{host}").exists()

    def note(self, name: str, host: str, begun: float) -> None:
        """Write down a call that hung. Lines of a few bytes are appended whole, whoever else appends."""
        with self.calls_file.open("a") as file:
            file.write(f"{name} {host} {begun:.3f} {time.time():.3f}\n")

    def calls(self) -> list[Call]:
        """The calls that hung and have ended."""
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
