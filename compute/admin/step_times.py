"""The time that each step of a job took, beside its usual time."""

from datetime import timedelta

from compute.admin.job_status import UNDO, JobProgress
from compute.admin.usual_times import Usual, limit_of
from compute.models import Job
from config.admin.pages import Panel, Row
from config.admin.value_formats import NOTHING, span
from config.display.statuses import BAD, BUSY


def steps_panel(progress: JobProgress, usual: Usual) -> Panel:
    """The steps of the job's plan, and the steps that were or are being undone, from first to last."""
    rows = [_row(progress, name, usual) for name in _names(progress)]
    return Panel("Steps", ("Step", "Took", "Usually within", ""), rows)


def _names(progress: JobProgress) -> list[str]:
    """The keys that ``Job.step_seconds`` has or may get, in order; steps that are not planned follow the others."""
    planned = progress.steps()
    seen = {*progress.job.step_seconds, *filter(None, [progress.present])}
    forward = planned + sorted(name for name in seen - {*planned} if not name.startswith(UNDO))
    return forward + [UNDO + name for name in reversed(forward) if UNDO + name in seen]


def _row(progress: JobProgress, name: str, usual: Usual) -> Row:
    job = progress.job
    usually = usual.steps.get((job.kind, name))
    cells = [name, NOTHING, NOTHING if usually is None else span(usually), ""]
    if name == progress.present:
        taken = job.clock - job.step_began
        slow = job.state == Job.State.ACTIVE and usually is not None and taken > limit_of(usually)
        cells[1], cells[3] = f"{span(taken)} so far", "now, much longer than usual" if slow else "now"
        return Row(cells, BAD if slow else BUSY)
    if name in job.step_seconds:
        cells[1] = span(timedelta(seconds=job.step_seconds[name]))
    return Row(cells)
