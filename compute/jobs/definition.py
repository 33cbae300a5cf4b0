"""What a kind of job is made of, and the registry of kinds, which `compute.worker.kinds` fills at start-up."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from compute.drivers.base import Power
from compute.jobs.data import JobData

D = TypeVar("D", bound=JobData)
"""What the jobs of a kind carry."""
R = TypeVar("R")
"""What a step gets to work with: `compute.worker.run.Run` of a job with D, which services need not know."""


class Fail(Exception):
    """Raised by a step that can never succeed: the job is rolled back. Customers read the text."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The step is under way: run it again in `seconds`. `percent` is how far this step has come.

    One that copies data may tell its `rate`, in MB a second, and how many seconds are `remaining`.
    """

    seconds: float
    percent: int = 0
    rate: float | None = None
    remaining: float | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """One effect of several is done: run the same step again at once, for the next. `percent` as in `Wait`."""

    percent: int = 0


Outcome = Wait | Again | None


def nothing(run: Any) -> None:
    """The undo of a step that leaves nothing behind which a later undo does not take away."""


@dataclass(frozen=True, slots=True)
class Step(Generic[R, D]):
    """One external effect.

    `do` and `undo` run with no transaction open, may each run any number of times, and `undo` must accept that
    `do` never happened. `persist` writes what is now true into our own tables, in the transaction that settles the
    step. ``undo=None`` marks the point of no return: from here on a failure ends the job where it stands.
    `event` opens an event of its own when the step is reached. `when` may skip the step for what a job carries.
    """

    name: str
    do: Callable[[R], Outcome]
    undo: Callable[[R], Outcome] | None
    persist: Callable[[R], None] | None = None
    event: str | None = None
    when: Callable[[D], bool] = lambda data: True


@dataclass(frozen=True)  # without slots, which cannot be had together with ``Kind[…](…)``
class Kind(Generic[R, D]):
    """A kind of job: which statuses it starts from, what holds during it, and its steps from first to last.

    The status afterwards is not written here: it is asked from the driver; `off` is what a machine that is off
    shows, where the job's `off_status` says nothing else. Without `during` the instance shows what it showed: the
    job works on a disk or takes a backup. `verb` completes "Cannot … a compute that is running."

    Three callbacks write our tables in the last settle: `on_done` when all went well, `on_rollback` when every
    effect was undone, and `on_superseded` in place of that where a deletion ended the job. `supersedes` lets a kind
    end another live job of the instance in order to run. That one is not rolled back, since all the instance has is
    about to go, unless it `has_external_effects`: on what is not the instance's machine, or on a disk that would be
    left half-made if the deletion came to nothing.
    """

    name: str
    verb: str
    event: str
    during: str | None
    data: type[D]
    steps: tuple[Step[R, D], ...]
    starts_from: frozenset[str] = frozenset()
    supersedes: bool = False
    goal: Power | None = None
    off: str = "offline"
    on_done: Callable[[R], None] | None = None
    on_rollback: Callable[[R], None] | None = None
    on_superseded: Callable[[R], None] | None = None
    has_external_effects: bool = False
    deadline: timedelta = timedelta(hours=1)

    def read(self, stored: Mapping[str, Any]) -> D:
        """What a job of this kind carries, as it was stored. Raises `UnreadableData`."""
        return self.data.from_json(stored)

    def plan(self, data: D) -> tuple[Step[R, D], ...]:
        """The steps that a job with this data takes, in order; never empty."""
        return tuple(step for step in self.steps if step.when(data))

    def position(self, name: str, data: D) -> int:
        """Where the step called `name` stands in the plan."""
        return [step.name for step in self.plan(data)].index(name)

    def percent(self, position: int, within: int, data: D) -> int:
        """Percent of the current event, with the step at `position` come `within` percent far.

        A segment is the run of steps that share an event; every step of it weighs the same. Below 100: only the
        last settle says 100.
        """
        plan = self.plan(data)
        start = max(i for i in range(position + 1) if i == 0 or plan[i].event)
        end = next((i for i in range(position + 1, len(plan)) if plan[i].event), len(plan))
        return min(99, int((position - start + within / 100) * 100 / (end - start)))


KINDS: dict[str, Kind[Any, Any]] = {}
"""Every kind, by its name."""


def register(kinds: Iterable[Kind[Any, Any]]) -> None:
    """Add kinds to `KINDS`. Names are written in rows: renaming a kind or a step strands live jobs.

    Raises `ValueError` where two kinds, or two steps of a kind, have one name, and for a kind without steps.
    """
    for kind in kinds:
        if KINDS.setdefault(kind.name, kind) is not kind:
            raise ValueError(f"{kind.name}: two kinds have this name")
        names = [step.name for step in kind.steps]
        if len(names) != len(set(names)) or not names:
            raise ValueError(f"{kind.name}: step names must be unique")
