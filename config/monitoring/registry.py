"""The registry of apps' functions for operators: measures of the present, and checks for failures.

The module `monitoring` of an app registers them. It is imported when the first of them is needed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from django.utils.module_loading import autodiscover_modules
from prometheus_client.core import Metric


@dataclass(frozen=True, slots=True)
class Trouble:
    """A failure of a component while requests are still answered. `component` is one word, for programs."""

    component: str
    text: str


Measures = Callable[[], Iterable[Metric]]
TroubleCheck = Callable[[], Iterable[Trouble]]

_measures: list[Measures] = []
_trouble_checks: list[TroubleCheck] = []


def measures(function: Measures) -> Measures:
    """Register a function that returns measures of the present, with one query or a few."""
    _measures.append(function)
    return function


def trouble_check(function: TroubleCheck) -> TroubleCheck:
    """Register a function that finds failures, with a query that takes at most a millisecond."""
    _trouble_checks.append(function)
    return function


@cache
def _registered() -> None:
    autodiscover_modules("monitoring")


def all_measures() -> list[Measures]:
    _registered()
    return _measures


def troubles() -> list[Trouble]:
    """Return all current failures. Raises `django.db.Error`."""
    _registered()
    return [found for function in _trouble_checks for found in function()]
