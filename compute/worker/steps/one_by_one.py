"""Steps that take their objects in turn: a disk each time, and the same step again until none is left."""

from collections.abc import Callable, Sequence

from compute.drivers.base import Progress
from compute.jobs.data import JobData
from compute.jobs.definition import Again, Outcome, Wait
from compute.worker.run import Run


def one_by_one(run: Run[JobData], left: Sequence[int], total: int, work: Callable[[int], Progress]) -> Outcome:
    """Work on the first of those `left` of `total`, named by a number each; the percent counts all of them.

    `work` is the driver's call, which may be repeated. What it has finished is in `run.finished`, None while it is
    under way: the step's `persist` has to note it, so that the next run finds one less.
    """
    if not left:
        return None
    progress = work(left[0])
    run.finished = left[0] if progress.done else None
    percent = ((total - len(left)) * 100 + progress.percent) // total
    if not progress.done:
        return Wait(progress.wait, percent, rate=progress.rate, remaining=progress.remaining)
    return Again(percent) if len(left) > 1 else None
