"""Faults that can be scripted into the simulated hypervisor."""

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What happens to a call that a fault strikes."""

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
    """A scripted fault: strikes the `nth` call that matches `call`, `machine` and `host` (None matches any), and
    the following ones, `count` in all or (None) for ever. `hits` is how many matched so far."""

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
