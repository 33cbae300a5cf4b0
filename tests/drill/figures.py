"""The arithmetic of a drill: answers, the windows in which something was down, percentiles, verdicts."""

import math
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

GRACE = 2.0
"""Seconds after a window for what was begun in it: connections that are gone are noticed at their next use."""
EXCUSED = ("database", "disk", "web")
"""The windows in which an answer may be 5xx. Without a broker all requests are answered."""
FLOOR = 0.050
"""Seconds that others may wait at the 99th percentile whatever they waited before."""
TIMES = 2.0
"""How many times their quiet 99th percentile others may wait."""


@dataclass(frozen=True, slots=True)
class Window:
    """The time in which `what` was down."""

    what: str
    begun: float
    ended: float

    def meets(self, begun: float, ended: float) -> bool:
        return begun <= self.ended + GRACE and ended >= self.begun


@dataclass(frozen=True, slots=True)
class Answer:
    """A request, and its status: 0 where the connection ended without one."""

    begun: float
    ended: float
    status: int
    what: str


@dataclass
class Log:
    """The answers of all clients, and the windows. Safe among threads."""

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
        """The answers 5xx by the window they met; those of ``up`` met none that excuses them."""
        found: dict[str, list[Answer]] = {"up": [], **{what: [] for what in EXCUSED}}
        for each in self.answers:
            if each.status >= 500:
                found[self._met(each)].append(each)
        return found

    def _met(self, answer: Answer) -> str:
        met = {window.what for window in self.windows if window.meets(answer.begun, answer.ended)}
        return next((what for what in EXCUSED if what in met), "up")

    def classes(self) -> dict[str, int]:
        """How many answers there were of each class of statuses; ``none`` without one."""
        found = Counter(f"{each.status // 100}xx" if each.status else "none" for each in self.answers)
        return dict(sorted(found.items()))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of `values` that so large a share of them does not exceed. ValueError where there are none."""
    if not values:
        raise ValueError("no values have no percentile")
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def bound(quiet: float) -> float:
    """How long others may wait at the 99th percentile, of what they waited while it was quiet; in seconds."""
    return max(TIMES * quiet, FLOOR)


@dataclass(frozen=True, slots=True)
class Effect:
    """A change that the hypervisor began, with the job that was live for it: None where there was none."""

    effect: str
    name: str
    job: int | None = None
    kind: str = ""
    state: str = ""


ONCE = ("define", "undefine", "create", "delete")
"""Effects that a thing sees once in its life: its name is never another's. The others happen once for each job."""


def doubled(effects: Iterable[Effect]) -> list[tuple[Effect, int]]:
    """The effects that were begun more than once where once was asked for, with how often.

    A call that only asks how far the work has come changes nothing at the hypervisor, and so is none. What a job
    undoes is told apart from what it did.
    """
    seen: Counter[Effect] = Counter()
    for each in effects:
        once = each.effect.partition(" ")[0] in ONCE
        seen[Effect(each.effect, each.name) if once else each] += 1
    return [(each, count) for each, count in seen.items() if count > 1]


def missing(acknowledged: Counter[tuple[str, int]], found: Counter[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """What was answered with 200 more often than events tell of it: by action and the entity's id."""
    return {key: count - found[key] for key, count in acknowledged.items() if count > found[key]}
