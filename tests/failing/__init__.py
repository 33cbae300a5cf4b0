"""What can be wrong with each field of each body, and what stands in the way of naming two of them at once."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.failing import accounts, deployments, managed, networking
from tests.policy import Scene

Wrong = Callable[[Scene], Mapping[str, Any]]
"""For each field a value that is of the right shape and is refused for what it says, in this scene."""

AREAS = (accounts, deployments, managed, networking)

WRONG: dict[str, Wrong] = {name: wrong for area in AREAS for name, wrong in area.WRONG.items()}
"""By operation. A field that is not named can be wrong in its shape alone."""

FULL_BODIES: dict[str, Wrong] = {name: body for area in AREAS for name, body in area.FULL_BODIES.items()}
"""A good body, where the one in `tests.policy` does not let each field be looked at."""

DEPENDENT: dict[str, set[frozenset[str]]] = {
    name: {frozenset(pair) for pair in pairs} for area in AREAS for name, pairs in area.DEPENDENT.items()
}
"""Pairs of fields of which one cannot be judged without the other."""
