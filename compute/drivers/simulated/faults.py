"""Faults that can be added to the simulated hypervisor."""

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """The effect of a fault on a call."""

    FAIL = "fail"
    """Nothing is done; `DriverError`."""
    REFUSE = "refuse"
    """Nothing is done; `Refused`."""
    UNREACHABLE = "unreachable"
    """Nothing is done; `Unreachable`, with the name of the fault's host, or else of the machine's."""
    CRASH = "crash"
    """Nothing is done, and the calling process is killed (SIGKILL)."""
    CRASH_AFTER = "crash_after"
    """The call is carried out, and the calling process is killed before it gets the answer."""
    SLOW = "slow"
    """Work started by this call takes `amount` times as long."""
    POWER_OFF = "power_off"
    """A machine started by this call powers itself off `amount` seconds after it has booted."""
    TRACE = "trace"
    """Nothing happens; the call is counted for `SimulatedDriver.calls`."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A scripted fault, which affects calls that match `call`, `machine` and `host` (None matches all).

    It affects the `nth` matching call and the following ones, `count` in total (None: no limit). `hits` is the
    number of matching calls so far.
    """

    id: int
    action: Action
    call: str | None
    machine: str | None
    host: str | None
    nth: int
    count: int | None
    amount: float | None
    hits: int


def like_pattern(pattern: str | None) -> str | None:
    """An SQL LIKE pattern of a machine name in which ``*`` stands for any text."""
    if pattern is None:
        return None
    for special in ("\\", "%", "_"):
        pattern = pattern.replace(special, "\\" + special)
    return pattern.replace("*", "%")
