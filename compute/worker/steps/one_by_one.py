"""Steps that handle several disks: one in each run, and the same step again until none is left."""

from collections.abc import Callable, Sequence

from compute.drivers.base import Progress
from compute.jobs.data import JobData
from compute.jobs.definition import Again, Outcome, Wait
from compute.worker.run import Run


def one_by_one(run: Run[JobData], left: Sequence[int], total: int, work: Callable[[int], Progress]) -> Outcome:
    """Work on the first of the disks `left` of `total`, each given by a number; the percent covers all of them.

    `work` is the driver call for one number, which may be repeated. `run.finished` is the number that the call
    finished, None while it is in progress. The step's `persist` must record it, so that the next run has one disk
    fewer.
    """
    if not left:
        return None
    progress = work(left[0])
    run.finished = left[0] if progress.done else None
    percent = ((total - len(left)) * 100 + progress.percent) // total
    if not progress.done:
        return Wait(progress.wait, percent, rate=progress.rate, remaining=progress.remaining)
    return Again(percent) if len(left) > 1 else None
