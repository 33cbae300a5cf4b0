"""The load of simulated machines, which rises and falls over the day, and is the same for every caller.

A counter is the integral of a rate over the time that its machine has been on. The rate is a mean with waves around
it. The phases of the waves depend on the machine's name. So a counter only grows, and needs no state.
"""

import math
import zlib

from compute.drivers.base import Usage

DAY = 86400.0
WAVES = ((DAY, 0.55), (5.3 * 3600, 0.2), (1140.0, 0.15))
"""The periods of the waves in seconds, and their heights as a part of the mean. All heights add up to less than
1."""
CORE_LOAD = 0.18
"""The mean load of a core."""
BLOCKS, SWAPPED = 60.0, 1.5
"""Mean blocks a second."""
MEAN_BYTES = {
    "v4_in": 45e3, "v4_out": 110e3, "v4_private_in": 9e3, "v4_private_out": 12e3,
    "v6_in": 6e3, "v6_out": 14e3, "v6_private_in": 300.0, "v6_private_out": 300.0,
}  # fmt: skip
"""Mean bytes a second on each network."""


def used(machine: str, vcpus: int, seconds: float) -> Usage:
    """The usage of a machine that has been on for `seconds`."""
    network = {name: int(_integral(machine, name, seconds) * mean) for name, mean in MEAN_BYTES.items()}
    return Usage(
        machine,
        cpu=_integral(machine, "cpu", seconds) * CORE_LOAD * vcpus,
        io=int(_integral(machine, "io", seconds) * BLOCKS),
        swap=int(_integral(machine, "swap", seconds) * SWAPPED),
        **network,
    )


def _integral(machine: str, counter: str, seconds: float) -> float:
    """The integral, from 0 to `seconds`, of a rate around 1. The mean rate depends on the machine: 0.4 to 1.6."""
    total = seconds
    for period, height in WAVES:
        phase = _share(f"{machine} {counter} {period}") * math.tau
        turn = period / math.tau
        total += height * turn * (math.cos(phase) - math.cos(seconds / turn + phase))
    return total * (0.4 + 1.2 * _share(f"{machine} {counter}"))


def _share(text: str) -> float:
    """A number from 0 up to 1, which is always the same for the same text."""
    return zlib.crc32(text.encode()) / 2**32
