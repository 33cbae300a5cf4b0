"""The parts of a kind of job, and the registry of kinds, which `compute.worker.kinds` fills at start-up."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from compute.drivers.base import Power
from compute.jobs.data import JobData

D = TypeVar("D", bound=JobData)
"""The data of a kind's jobs."""
R = TypeVar("R")
"""The argument of a step: `compute.worker.run.Run` of a job with D. Services need not know this class."""


class Fail(Exception):
    """Raised by a step that can never succeed: the job is rolled back. Customers read the text."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The step is in progress: run it again in `seconds`. `percent` is the progress of this step.

    A step that copies data may report its `rate` in MB per second, and the seconds `remaining`.
    """

    seconds: float
    percent: int = 0
    rate: float | None = None
    remaining: float | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """One of several effects is done: run the same step again at once for the next one. `percent` is as in
    `Wait`."""

    percent: int = 0


Outcome = Wait | Again | None


def nothing(run: Any) -> None:
    """The undo of a step whose effect, if any, is removed by an undo that runs later."""


@dataclass(frozen=True, slots=True)
class Step(Generic[R, D]):
    """One external effect.

    `do` and `undo` run with no transaction open, and may each run any number of times. `undo` must accept that `do`
    never happened. `persist` records the effect in our own tables, in the transaction that settles the step.
    ``undo=None`` marks the point of no return: if this step fails, nothing is undone. If a later step fails, only
    the steps after this one are undone. `event` is the action of a new event, which is opened when the job reaches
    the step. `when` decides by the job's data whether the step runs at all. `former_name` is its name in the
    previous release: live jobs may have it.
    """

    name: str
    do: Callable[[R], Outcome]
    undo: Callable[[R], Outcome] | None
    persist: Callable[[R], None] | None = None
    event: str | None = None
    when: Callable[[D], bool] = lambda data: True
    former_name: str | None = None


@dataclass(frozen=True)  # without slots, which cannot be had together with ``Kind[…](…)``
class Kind(Generic[R, D]):
    """A kind of job: the statuses it starts from, the status during it, and its steps from first to last.

    The kind does not define the status afterwards: the driver reports it. `off` is the status of a machine that is
    off, unless the job's `off_status` names another. Without `during` the instance keeps its status: the job works
    on a disk or takes a backup. `verb` completes "Cannot … a compute that is running."

    Three callbacks write our tables in the last settle. `on_done` runs after success, and `on_rollback` when every
    effect was undone. `on_superseded` replaces `on_rollback` if a deletion ended the job.

    A kind that `supersedes` can end another live job of the instance in order to run. If the kind of the superseded
    job `has_external_effects`, the superseded job is rolled back. Such effects are outside the instance's machine,
    or on a disk that would stay half-made while the deletion is tried. Otherwise nothing is undone, because the
    whole instance is about to be deleted. A job of a kind that `outlives` the instance is not superseded. It
    continues from its first step as a job of no instance, with the data that `outlives` returns.

    `was_on` tells whether the machine was on before the job. If the job is given up at its deadline, as in a long
    outage, and leaves the machine off, the platform boots the machine.

    Jobs of an `interactive` kind take seconds while a person waits. They are claimed before jobs that copy data.
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
    interactive: bool = False
    outlives: Callable[[D], D] | None = None
    deadline: timedelta = timedelta(hours=1)
    was_on: Callable[[R], bool] = lambda run: False

    def read(self, stored: Mapping[str, Any]) -> D:
        """The data of a job of this kind, read from its stored form. Raises `UnreadableData`."""
        return self.data.from_json(stored)

    def plan(self, data: D) -> tuple[Step[R, D], ...]:
        """The steps that a job with this data takes, in order; never empty."""
        return tuple(step for step in self.steps if step.when(data))

    def position(self, name: str, data: D) -> int:
        """The index in the plan of the step called `name`, now or formerly. Raises `ValueError` for other names."""
        for index, step in enumerate(self.plan(data)):
            if name in (step.name, step.former_name):
                return index
        raise ValueError(name)

    def percent(self, position: int, within: int, data: D) -> int:
        """Return the percentage of the current event, while the step at `position` is at `within` percent.

        An event segment is the run of steps that share an event. All steps of a segment weigh the same. The result
        is below 100, because only the last settle writes 100.
        """
        plan = self.plan(data)
        start = max(i for i in range(position + 1) if i == 0 or plan[i].event)
        end = next((i for i in range(position + 1, len(plan)) if plan[i].event), len(plan))
        return min(99, int((position - start + within / 100) * 100 / (end - start)))


KINDS: dict[str, Kind[Any, Any]] = {}
"""Every kind, by its name."""


def register(kinds: Iterable[Kind[Any, Any]]) -> None:
    """Add kinds to `KINDS`. Rows store the names: renaming a kind, or a step without `former_name`, strands jobs.

    Raises `ValueError` if two kinds, or two steps of a kind, have the same name, or if a kind has no steps.
    """
    for kind in kinds:
        if KINDS.setdefault(kind.name, kind) is not kind:
            raise ValueError(f"{kind.name}: two kinds have this name")
        names = [name for step in kind.steps for name in (step.name, step.former_name) if name]
        if len(names) != len(set(names)) or not names:
            raise ValueError(f"{kind.name}: step names must be unique")
