"""Bad values for each field of each body, and pairs of fields whose problems cannot be named at once."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.failing import accounts, deployments, managed, networking
from tests.policy import Scene

Wrong = Callable[[Scene], Mapping[str, Any]]
"""For each field, a value of the right shape that is refused for its content, in this scene."""

AREAS = (accounts, deployments, managed, networking)

WRONG: dict[str, Wrong] = {name: wrong for area in AREAS for name, wrong in area.WRONG.items()}
"""Bad values by operation. A field without one can be wrong in its shape alone."""

FULL_BODIES: dict[str, Wrong] = {name: body for area in AREAS for name, body in area.FULL_BODIES.items()}
"""A good body, if the body in `tests.policy` does not let each field be checked."""

DEPENDENT: dict[str, set[frozenset[str]]] = {
    name: {frozenset(pair) for pair in pairs} for area in AREAS for name, pairs in area.DEPENDENT.items()
}
"""Pairs of fields of which one cannot be checked without the other."""
