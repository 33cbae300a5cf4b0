"""An attack that harms others is found, and repeated once."""

import threading
from collections import Counter
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from tests.drill import __main__ as command
from tests.drill.crowding.attacker import FULL_RUN, QUICK_RUN, playing
from tests.drill.crowding.others import Waited
from tests.drill.crowding.suite import ATTACKS, Outcome, attacked
from tests.drill.figures import bound


def quick(seconds: float = 0.004, **statuses: int) -> Waited:
    """Return the same wait for a hundred requests, answered 200 or as `statuses` say: ``s503=1``."""
    return Waited([seconds] * 100, Counter({int(key[1:]): count for key, count in statuses.items()} or {200: 100}))


def test_others_may_wait_twice_as_long_or_fifty_milliseconds():
    assert (bound(0.004), bound(0.025), bound(0.1)) == (0.05, 0.05, 0.2)
    assert quick(0.049).passes(quick())
    assert Waited([0.004] * 99 + [9], Counter({200: 100})).passes(quick())
    assert not Waited([0.004] * 98 + [9, 9], Counter({200: 100})).passes(quick())


@pytest.mark.parametrize("status", [0, 404, 429, 503])
def test_another_answer_than_200_is_a_miss_however_fast_it_was(status):
    outcome = Outcome(quick(), quick(**{"s200": 99, f"s{status}": 1}), Counter())
    assert outcome.noticed
    assert outcome.refused == {status: 1}


@pytest.mark.parametrize(
    ("form", "seconds", "tries", "noticed"),
    [
        (FULL_RUN, [0.004, 0.004, 0.004], 1, False),
        (FULL_RUN, [0.004, 0.004, 9, 7, 0.004, 0.004, 0.004], 2, False),
        (FULL_RUN, [0.004, 0.004, 9, 0.004, 0.004, 9], 2, True),
        (QUICK_RUN, [0.004, 9], 1, True),
    ],
)
def test_a_miss_is_repeated_once_where_times_are_judged(form, seconds, tries, noticed):
    """Each try has an attacker with unused limits, and a quiet measurement right before it.

    The measurement begins once the service is quiet.
    """
    measured = iter(seconds)
    attackers = []

    def attacker() -> SimpleNamespace:
        attackers.append(SimpleNamespace(sent=Counter(), number=len(attackers)))
        return attackers[-1]

    def attack(attacker: SimpleNamespace) -> nullcontext:
        attacker.sent[str(attacker.number)] += 1
        return nullcontext()

    outcome = attacked(lambda seconds: quick(next(measured)), form, attack, attacker, 1, form.tries)
    assert (len(attackers), outcome.noticed, outcome.sent) == (tries, noticed, {str(tries - 1): 1})


def test_each_attack_can_be_asked_for_by_its_name():
    assert (*ATTACKS,) == command.ATTACKS


def test_an_attack_that_fails_ends_the_drill():
    def play(stopped: threading.Event) -> None:
        raise RuntimeError("there is no form")

    with pytest.raises(RuntimeError, match="there is no form"), playing(play):
        pass
