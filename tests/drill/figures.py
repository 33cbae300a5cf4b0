"""The calculations of a drill: answers, windows of failure, percentiles, verdicts."""

import math
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

GRACE = 2.0
"""Seconds after a window for work that began in it. A broken connection is noticed at its next use."""
EXCUSED = ("database", "disk", "web")
"""Windows in which an answer may be 5xx. Without a broker all requests are answered."""
FLOOR = 0.050
"""Seconds that other requests may always take at the 99th percentile, whatever they took before."""
TIMES = 2.0
"""The allowed factor of other requests' 99th percentile, compared with the quiet time."""


@dataclass(frozen=True, slots=True)
class Window:
    """The period in which `what` was down."""

    what: str
    begun: float
    ended: float

    def meets(self, begun: float, ended: float) -> bool:
        return begun <= self.ended + GRACE and ended >= self.begun


@dataclass(frozen=True, slots=True)
class Answer:
    """A request and the status of its answer: 0 if the connection ended without one."""

    begun: float
    ended: float
    status: int
    what: str


@dataclass
class Log:
    """The answers of all clients, and the windows. Thread-safe."""

    answers: list[Answer] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def answer(self, begun: float, status: int, what: str) -> None:
        with self._lock:
            self.answers.append(Answer(begun, monotonic(), status, what))

    @contextmanager
    def window(self, what: str) -> Iterator[None]:
        begun = monotonic()
        try:
            yield
        finally:
            with self._lock:
                self.windows.append(Window(what, begun, monotonic()))

    def failures(self) -> dict[str, list[Answer]]:
        """Return the answers 5xx by the window that they fall into. Answers in ``up`` have no excuse."""
        found: dict[str, list[Answer]] = {"up": [], **{what: [] for what in EXCUSED}}
        for each in self.answers:
            if each.status >= 500:
                found[self._met(each)].append(each)
        return found

    def _met(self, answer: Answer) -> str:
        met = {window.what for window in self.windows if window.meets(answer.begun, answer.ended)}
        return next((what for what in EXCUSED if what in met), "up")

    def classes(self) -> dict[str, int]:
        """Return the number of answers in each class of statuses. ``none`` counts requests without an answer."""
        found = Counter(f"{each.status // 100}xx" if each.status else "none" for each in self.answers)
        return dict(sorted(found.items()))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest of `values` that is at least as large as `share` of them. ValueError if there are
    none."""
    if not values:
        raise ValueError("no values have no percentile")
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def bound(quiet: float) -> float:
    """Return how long other requests may take at the 99th percentile, in seconds. `quiet` is their quiet time."""
    return max(TIMES * quiet, FLOOR)


@dataclass(frozen=True, slots=True)
class Effect:
    """A change that the hypervisor began, with the job that was live for it, or None."""

    effect: str
    name: str
    job: int | None = None
    kind: str = ""
    state: str = ""


ONCE = ("define", "undefine", "create", "delete")
"""Effects that a thing has once in its life, because names are not reused. Other effects happen once for each
job."""


def doubled(effects: Iterable[Effect]) -> list[tuple[Effect, int]]:
    """Return the effects that were begun more often than requested, with their counts.

    A call that only polls progress changes nothing at the hypervisor, and is no effect. What a job undoes
    counts apart from what it did.
    """
    seen: Counter[Effect] = Counter()
    for each in effects:
        once = each.effect.partition(" ")[0] in ONCE
        seen[Effect(each.effect, each.name) if once else each] += 1
    return [(each, count) for each, count in seen.items() if count > 1]


def missing(acknowledged: Counter[tuple[str, int]], found: Counter[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Return the acknowledged changes without an event, counted by action and the entity's id."""
    return {key: count - found[key] for key, count in acknowledged.items() if count > found[key]}
