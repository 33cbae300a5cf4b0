"""The load of simulated machines is realistic."""

import itertools

import pytest

from compute.drivers.simulated import load
from compute.services.stats.sampling import COUNTERS

DAY, STEP = 86400, 300


def rates(machine: str, counter: str, vcpus: int = 2) -> list[float]:
    """Return the rates of a day, every five minutes."""
    values = [getattr(load.used(machine, vcpus, second), counter) for second in range(0, DAY + 1, STEP)]
    return [(after - before) / STEP for before, after in itertools.pairwise(values)]


@pytest.mark.parametrize("counter", COUNTERS)
def test_counters_only_grow_and_their_rate_has_highs_and_lows(counter):
    found = rates("skerry-7", counter)
    assert min(found) >= 0
    assert max(found) > 1.3 * min(found)


def test_no_machine_uses_more_than_its_cores():
    for number in range(50):
        assert max(rates(f"skerry-{number}", "cpu", vcpus=2)) < 2


def test_machines_differ():
    assert rates("skerry-1", "cpu") != rates("skerry-2", "cpu")


def test_it_begins_at_zero():
    assert all(getattr(load.used("skerry-7", 2, 0.0), counter) == 0 for counter in COUNTERS)
