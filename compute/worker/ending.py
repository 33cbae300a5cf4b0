"""The ends of jobs: the last settle, after success or an undo, and the ends that leave something undone."""

import logging
from contextlib import suppress
from functools import partial
from typing import Any

from django.db import transaction

from accounts.models import Event
from compute.drivers.base import DriverError, Power, Unreachable
from compute.jobs import store
from compute.jobs.data import JobData
from compute.jobs.definition import KINDS, Kind, Step
from compute.jobs.metrics import JOB_SECONDS
from compute.jobs.notify import notify
from compute.models import Instance, Job
from compute.worker.drivers import Drivers, InstanceGone
from compute.worker.run import Run
from compute.worker.steps import volumes
from config.processes import tracing

log = logging.getLogger(__name__)

INTERNAL = "The platform could not complete this. Support can see the reason: open a ticket."
OVERDUE = "This took too long, and the platform stopped it."
UNEXPECTED = "Unexpected "


def notify_promoted() -> None:
    """Promote queued jobs, and notify of those that became live."""
    for job_id in store.promote():
        notify(job_id)


class Ending:
    """One claimed job at its current step, and the ways in which the job ends."""

    def __init__(self, job: Job, data: JobData, drivers: Drivers):
        self.job = job
        self.data = data
        self.kind: Kind[Run[Any], Any] = KINDS[job.kind]
        self.plan = self.kind.plan(data)
        self.at = self.kind.position(job.step, data)
        self.context = Run(job, data, drivers)
        self.span = tracing.NOT_RECORDED

    @property
    def current(self) -> Step[Run[Any], Any]:
        return self.plan[self.at]

    def _name(self) -> str:
        """Return the job's name for the log: ``job 7 (boot) of web-1 (12)``."""
        label, key = self.job.named.get("instance"), self.job.instance_id
        of = f"{label} ({key})" if label else "no instance" if key is None else f"({key})"
        return f"job {self.job.pk} ({self.kind.name}) of {of}"

    def _finish(self, state: str, rolled_back: bool = False) -> None:
        """Write the last settle: job, event and instance in one transaction, with the power that the driver
        reports."""
        power = self.context.power()
        if power == self.kind.goal:
            state = Job.State.DONE
        left_behind = volumes.left_behind(self.context, power) if self.kind.during else []
        done = state == Job.State.DONE
        callback = self.kind.on_done if done else self.kind.on_rollback if rolled_back else None
        persist = self.current.persist if done else None
        message = "" if done else self.job.error or INTERNAL
        # going forward, a machine that is on was booted by the job's last step, even if the job failed there
        forward = self.job.state == Job.State.ACTIVE
        close = partial(
            store.finish, self.job, state=state, message=self._public(message), error=message,
            status=self._status(power, owed=not done and message == OVERDUE),
            during=self.kind.during or Instance.Status.RUNNING,
            booted=self.data.config_id if power == Power.ON and forward else None,
        )  # fmt: skip
        if not (callback or persist or self.kind.on_superseded or left_behind):
            finished = close()
        else:
            with transaction.atomic():
                if power == Power.ABSENT:
                    store.lock_history(self.job)
                finished = close()
                if finished is not None:
                    store.lock_instances(finished)
                    # volumes first: an arrival on another host then locks hosts and counters
                    if left_behind:
                        volumes.release_left_behind(self.context, left_behind)
                    if persist:
                        persist(self.context)
                    # if a deletion of the instance waits, the rollback must not delete the instance itself
                    if not done and finished.cancelled and self._deletion_waits():
                        callback = self.kind.on_superseded
                    if callback:
                        # if the instance was deleted during the job, its rows are gone too
                        with suppress(InstanceGone):
                            callback(self.context)
        if finished is not None:
            self._count(finished, state)
            if finished.cancelled:
                notify_promoted()

    def _count(self, finished: Job, outcome: str) -> None:
        assert finished.finished_at is not None  # noqa: S101 - the settle wrote it
        log.info("%s ended: %s", self._name(), outcome)
        self.span.note({"skerry.job.outcome": outcome})
        JOB_SECONDS.observe((finished.finished_at - finished.created).total_seconds(), self.kind.name, outcome)

    def _status(self, power: Power, owed: bool = False) -> str | None:
        """Return the status of the instance from now on; None if the job must not change it.

        After any kind of job except a deletion, an instance without a machine is offline. After a deletion, the
        instance keeps the status `deleting` until its row is deleted. Another instance may have the same label
        since the deletion began, and with any other status of this instance, the label would not be unique.

        `owed` is set for a job that was given up at its deadline. A machine that was on before such a job is then
        booted by the platform, as after maintenance.
        """
        if power == Power.ABSENT:
            # there is no machine that could run or wait for its host
            return None if self.kind.goal == Power.ABSENT else Instance.Status.OFFLINE
        if self.kind.during is None:
            return None
        if owed and power == Power.OFF and self.kind.was_on(self.context):
            return Instance.Status.STOPPED
        return Instance.Status.RUNNING if power == Power.ON else self.data.off_status or self.kind.off

    def _public(self, message: str) -> str:
        """Return the message for customers: `INTERNAL` in place of the text of an unexpected error, and else the
        message itself."""
        return INTERNAL if message.startswith(UNEXPECTED) else message

    def _deletion_waits(self) -> bool:
        """Tell whether a job that supersedes this one is queued behind it."""
        waiting = Job.objects.filter(state=Job.State.QUEUED)
        mine = waiting.filter(instance_id=self.job.instance_id)  # type: ignore[misc] # the stubs know no None here
        return mine.exists()

    def _moot(self) -> bool:
        """Tell whether undoing is pointless, because a queued deletion removes everything that this job has
        made."""
        return self.job.cancelled and not self.kind.has_external_effects and self._deletion_waits()

    def _end_superseded(self) -> None:
        """End the job without undoing its steps: the queued deletion removes their effects."""
        reason = Event.SUPERSEDED
        if self.kind.on_superseded:
            # if the host does not answer, the source keeps its previous status: a clone changes no power
            with suppress(Unreachable):
                self.context.ask_source()
        with transaction.atomic():
            finished = store.finish(
                self.job,
                state=Job.State.FAILED,
                message=reason,
                error=reason,
                status=None,
                during=self.kind.during,
            )
            if finished and self.kind.on_superseded:
                store.lock_instances(finished)
                self.kind.on_superseded(self.context)
        if finished is not None:
            self._count(finished, "superseded")
        notify_promoted()

    def _abandon(self) -> None:
        """End a job whose undoing staff gave up. Our rows change as if all steps had been undone. The error names
        the steps that were not undone.

        The host is asked for the power of the machine, and need not answer. A deletion ends as if it had succeeded,
        because the host with the objects that it could not delete is gone.
        """
        steps = [step.name for step in self.plan[: self.at + 1] if step.undo is not None]
        try:
            status = self._status(self.context.power())
        except DriverError as error:
            log.warning("%s failed, and its host does not answer: %s", self._name(), error)
            status = self._status(Power.OFF)
        reason = self.data.undo_reason
        callback = self.kind.on_done if self.kind.goal == Power.ABSENT else self.kind.on_rollback
        with transaction.atomic():
            finished = store.finish(
                self.job, state=Job.State.FAILED, status=status, during=self.kind.during,
                message=f"{self._public(reason)} {self.data.given_up}".strip(),
                error=f"{reason} {self.data.given_up} Not undone: {', '.join(reversed(steps))}.".strip(),
            )  # fmt: skip
            if finished is not None and callback:
                store.lock_instances(finished)
                callback(self.context)
        if finished is not None:
            log.warning("%s failed: %s", self._name(), finished.error)
            self._count(finished, "given up")
            notify_promoted()
