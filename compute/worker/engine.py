"""The engine: claims a due job, runs its steps one by one, settles each under the fence.

A step runs with no transaction open. Its outcome is written by one conditional UPDATE. So after a crash at any
point, another worker takes up the job at the same step when the lease runs out. docs/jobs.md describes the engine.
"""

import logging
import time
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction

from accounts.models import Event
from accounts.services.events import open_event
from compute.drivers.base import DriverError, Refused, Unreachable
from compute.jobs import claims, parking, store, sweeps
from compute.jobs.data import JobData, UnreadableData
from compute.jobs.definition import KINDS, Again, Fail, Outcome, Wait
from compute.jobs.metrics import STEP_FAILURES, STEP_SECONDS, SWEEPS
from compute.jobs.notify import count_waiting, notify
from compute.models import Job
from compute.refs import config_ref, instance_ref
from compute.services.common.boot_profile import boot_config
from compute.services.hosts.reachability import record_unreachable
from compute.worker.drivers import Drivers, HostAway, InstanceGone, configured
from compute.worker.ending import INTERNAL, OVERDUE, UNEXPECTED, Ending, notify_promoted
from compute.worker.reachability import host_of
from compute.worker.stopping import is_stopping
from config.errors import Busy
from config.processes import tracing
from config.processes.logging import about

log = logging.getLogger(__name__)

UNKNOWN_SECONDS = 15.0
BUSY_SECONDS = 1.0
TURN_SECONDS = 2.0
"""The time for which a job may run step after step while an account without a job at work waits."""


def run_next(notified_id: int, drivers: Drivers = configured) -> None:
    """Claim the job that is fairest now, work on it, and notify workers of one more ready job.

    `notified_id` is the job of the message that the worker took. The message may be late, repeated or about a
    finished job. If the claimed job had no message, or no job is claimed, `return_notification` records that the
    taken message is gone.
    """
    if is_stopping():
        notify(notified_id)
        return
    job = claims.claim_next()
    returned = (job is None or not job.was_notified) and sweeps.return_notification(notified_id)
    if job is None and returned:
        # a slot may have become free since: the worker that freed it saw no job without a message
        job = claims.claim_next()
    if job is not None:
        _work(job, drivers)
        notify_one()


def run(job_id: int, drivers: Drivers = configured) -> None:
    """Claim this job out of turn, and work on it; do nothing if it is not due."""
    job = store.claim(job_id)
    if job is not None:
        _work(job, drivers)


def _work(job: Job, drivers: Drivers) -> None:
    with about(job_id=job.pk, kind=job.kind, instance_id=job.instance_id, **job.named):
        _run(job, drivers)


def _run(claimed: Job, drivers: Drivers) -> None:
    """Work on the job until it ends, waits, fails for now, or must give its slot to other jobs.

    A worker that is stopping runs no further step, and notifies another worker.
    """
    started = time.monotonic()
    job: Job | None = claimed
    while job is not None:
        job.named = claimed.named
        if is_stopping() or _turn_is_over(job, time.monotonic() - started):
            if store.postpone(job, 0):
                notify(job.pk)
            return
        runner = _runner(job, drivers)
        if runner is None:
            return
        job = runner.step()


def _turn_is_over(job: Job, seconds: float) -> bool:
    """Tell whether the task's limits leave no time for another driver call, or the job must give its slot to
    others."""
    if seconds > settings.JOB_SOFT_LIMIT - settings.JOB_DRIVER_TIMEOUT:
        return True
    return seconds > TURN_SECONDS and claims.others_wait(job)


def _runner(job: Job, drivers: Drivers) -> "Runner | None":
    """Return the runner of a claimed job. None if this worker cannot run the job; the job's error then has the
    reason.

    The attempt does not count, because nothing was tried. A worker of another release may be able to run the job.
    """
    try:
        return Runner(job, _known(job), drivers)
    except (Unknown, UnreadableData) as unknown:
        _leave(job, unknown)
    except Exception as raised:
        # the driver could not be constructed
        error = f"{UNEXPECTED}{type(raised).__name__}: {raised}"
        log.exception("job %s (%s) cannot be run by this worker", job.pk, job.kind)
        store.postpone(job, UNKNOWN_SECONDS, error=error)
    return None


def _leave(job: Job, reason: Exception) -> None:
    """Leave a job to other workers, of another release or with other keys. Staff see why the job waits."""
    log.error("job %s: %s", job.pk, reason)
    store.postpone(job, UNKNOWN_SECONDS, error=str(reason))


class Unknown(Exception):
    """This release lacks the job's kind, or the step of the kind at which the job stands."""


def _known(job: Job) -> JobData:
    """Return the job's data. Raises `Unknown` or `UnreadableData` if this release cannot continue the job."""
    kind = KINDS.get(job.kind)
    if kind is not None:
        data = kind.read(job.data)
        if any(job.step in (step.name, step.former_name) for step in kind.plan(data)):
            return data
    raise Unknown(f"This worker knows no step {job.step} of {job.kind}.")


class Runner(Ending):
    """Runs the current step of one claimed job and settles it."""

    def step(self) -> Job | None:
        """Run or undo the current step. Returns the job while it is leased and steps are left, else None."""
        began = time.monotonic()
        undoing = self.job.state == Job.State.UNDOING
        name = f"{'undo ' if undoing else ''}{self.kind.name} {self.current.name}"
        with tracing.span(name, "consumer", parent=self.job.traceparent) as self.span:
            if tracing.on():
                self.span.note(self._described())
            try:
                return self._step(undoing)
            finally:
                STEP_SECONDS.observe(time.monotonic() - began, self.kind.name, self.current.name)

    def _step(self, undoing: bool) -> Job | None:
        try:
            if self.job.waits_for_id is not None:
                parking.unpark(self.job)
            if undoing:
                return self._undo()
            if reason := self._hopeless():
                return self._give_up(reason)
            return self._do()
        except (Fail, Refused) as error:
            return self._give_up(str(error))
        except Busy:
            # the job enqueues another one, and its instance has just become busy: the step is retried
            self._wait(Wait(BUSY_SECONDS))
            return None
        except UnreadableData as error:
            _leave(self.job, error)
            return None
        except Exception as error:  # noqa: BLE001 - whatever it was, the job must stay due
            # any other error leaves the job due; soft time limits arrive here too
            self._retry(error)
            return None

    def _described(self) -> dict[str, str | int | None]:
        """Return the attributes of the job for traces."""
        job = self.job
        return {
            "skerry.job.id": job.pk,
            "skerry.job.kind": job.kind,
            "skerry.job.step": job.step,
            "skerry.job.attempt": job.attempt,
            "skerry.instance.id": job.instance_id,
            "skerry.instance.label": job.named.get("instance"),
            "skerry.host.label": job.named.get("host"),
        }

    # --- forwards -------------------------------------------------------------------------------------

    def _hopeless(self) -> str:
        """Return the reason to give up an active job, or an empty string."""
        if self.job.cancelled:
            return Event.SUPERSEDED if self._deletion_waits() else "Cancelled."
        if self.job.overdue:
            return OVERDUE
        if self.job.attempt > settings.JOB_ATTEMPTS:
            # the last attempts left no outcome at all: the worker died with them
            return self.job.error or INTERNAL
        return ""

    def _do(self) -> Job | None:
        outcome: Outcome = self.current.do(self.context)
        if isinstance(outcome, Wait):
            self._wait(outcome)
            return None
        if isinstance(outcome, Again):
            return self._settle(self.at, outcome.percent)
        if self.at + 1 < len(self.plan):
            return self._settle(self.at + 1, 0)
        self._finish(Job.State.DONE)
        return None

    def _wait(self, outcome: Wait) -> None:
        percent = self.kind.percent(self.at, outcome.percent, self.data)
        self.span.note({"skerry.job.outcome": "waits"})
        waits = store.postpone(
            self.job, outcome.seconds, percent=percent, rate=outcome.rate, remaining=outcome.remaining
        )
        if waits and not outcome.seconds:
            notify(self.job.pk)

    def _settle(self, position: int, within: int) -> Job | None:
        """Record the effect of the current step, and move the job to the step at `position`."""
        target = self.plan[position]
        opens = target.event if position != self.at else None
        percent = None if opens else self.kind.percent(position, within, self.data)
        move = partial(store.advance, self.job, target.name, Job.State.ACTIVE, percent=percent)
        if not (self.current.persist or opens):
            return move()
        with transaction.atomic():
            job = move()
            if job is not None:
                if self.current.persist:
                    store.lock_instances(job)
                    self.current.persist(self.context)
                    job.host = None  # which may be another one now
                if opens:
                    self._open_event_segment(job, opens)
        return job

    def _open_event_segment(self, job: Job, action: str) -> None:
        """Finish the job's present event and open one for the next segment, about the same instance."""
        event = job.event
        store.finish_event_segment(job.event_id)
        if event is None:
            return
        event = open_event(
            username=event.username,
            account_id=event.account_id,
            action=action,
            entity=instance_ref(self.context.instance),
            secondary=config_ref(boot_config(self.context.instance, self.data.config_id)),
            started=True,
            message=event.message,
        )
        job.event = event
        job.save(update_fields=["event"])

    # --- backwards ------------------------------------------------------------------------------------

    def _give_up(self, reason: str) -> Job | None:
        """Begin to roll the job back from the current step, whose effect may be incomplete."""
        if self._moot():
            self._end_superseded()
            return None
        if self.job.state == Job.State.UNDOING:
            # an undo is retried until it succeeds; staff see the error on the job's page
            self._retry(DriverError(reason))
            return None
        # a customer's deletion of a busy instance is no failure
        self.span.note({"skerry.job.outcome": "given up"})
        self.span.fail(self._public(reason))
        level = logging.INFO if reason == Event.SUPERSEDED else logging.WARNING
        log.log(level, "%s fails at %s: %s", self._name(), self.current.name, reason)
        if self.current.undo is None:
            self.job.error = reason
            self._end(Job.State.FAILED)
            return None
        data = replace(self.data, undo_reason=reason).to_json()
        return store.advance(self.job, self.current.name, Job.State.UNDOING, data=data)

    def _undo(self) -> Job | None:
        if self._moot():
            self._end_superseded()
            return None
        if self.data.given_up:
            self._abandon()
            return None
        if self.current.undo is not None:
            try:
                outcome = self.current.undo(self.context)
            except InstanceGone:
                outcome = None  # its row was deleted while the job ran: nothing is left to undo for it
            if isinstance(outcome, Wait):
                if store.postpone(self.job, outcome.seconds) and not outcome.seconds:
                    notify(self.job.pk)
                return None
        if self.at > 0 and self.plan[self.at - 1].undo is not None:
            return store.advance(self.job, self.plan[self.at - 1].name, Job.State.UNDOING)
        self.job.error = self.data.undo_reason
        self._finish(Job.State.FAILED, rolled_back=self.at == 0)
        return None

    def _retry(self, error: Exception) -> None:
        """Postpone the step and write the error to the job. If its host does not answer, park the job until it
        does."""
        if isinstance(error, Unreachable) and self._park(error):
            return
        STEP_FAILURES.add(self.kind.name, self.current.name)
        expected = isinstance(error, DriverError)
        message = str(error) if expected else f"{UNEXPECTED}{type(error).__name__}: {error}"
        self.span.note({"skerry.job.outcome": "tried again"})
        self.span.fail(message if expected else type(error).__qualname__)
        undoing = self.job.state == Job.State.UNDOING
        delay = min(2**self.job.attempt, 60) * settings.JOB_BACKOFF
        if not undoing and self.job.attempt == settings.JOB_ATTEMPTS:
            delay = 0.0  # the next claim gives the job up at once; if that fails as well, the delay is as usual
        if store.postpone(self.job, delay, error=message, failed=True) and not delay:
            notify(self.job.pk)
        log.warning(
            "%s failed at %s, attempt %s: %s", self._name(), self.current.name, self.job.attempt, message,
            exc_info=None if expected else error,
        )  # fmt: skip

    def _park(self, error: Unreachable) -> bool:
        """Park the job until the host answers. False for a host that nobody knows, or that answers.

        Only the attempt of the job that detected the silence counts. If it did not count, a call that never ends on
        a healthy host would get the host recorded as silent again and again, until the job's deadline.
        """
        host = host_of(error, self.job.instance_id)
        if host is None:
            return False
        found_out = False
        if not isinstance(error, HostAway):
            STEP_FAILURES.add(self.kind.name, self.current.name)
            found_out = record_unreachable(str(host.uuid), str(error), self._asked_after())
        if not parking.park(self.job, host.pk, str(error), counted=found_out):
            return False
        self.span.note({"skerry.job.outcome": "waits for its host"})
        # at DEBUG: the host's silence is logged once, for all its jobs
        log.debug("%s waits at %s until host %s answers: %s", self._name(), self.current.name, host, error)
        return True

    def _asked_after(self) -> datetime:
        """Return when the lease was last taken, on the database's clock. The driver calls since then are later."""
        assert self.job.lease_until is not None  # noqa: S101 - this worker holds the job
        return self.job.lease_until - timedelta(seconds=settings.JOB_LEASE)

    def _end(self, state: str) -> None:
        """Finish the job, or retry later if the driver cannot report the power of the machine."""
        try:
            self._finish(state)
        except Exception as error:  # noqa: BLE001 - whatever it was, the job must stay due
            self._retry(error)


def notify_one() -> None:
    """Notify workers of one ready job for which no message waits, since a slot has become free."""
    for job_id in sweeps.notify_one():
        notify(job_id)


def sweep() -> int:
    """Notify workers of ready jobs for which no message waits. Runs every second. Several sweeps at once do no
    harm.
    """
    SWEEPS.add()
    notify_promoted()
    sweeps.make_ready()
    found = [*sweeps.due(), *_lost_notifications()]
    for job_id in found:
        notify(job_id)
    return len(found)


def _lost_notifications() -> list[int]:
    """Mark jobs whose messages the broker has lost as notified again: as many as messages are missing.

    Marks none while the broker does not answer. The broker is asked only if a job has waited for
    JOB_NOTIFY_PATIENCE.
    """
    notified, stale = sweeps.count_notified()
    if not stale:
        return []
    waiting = count_waiting()
    if waiting is None or waiting >= notified:
        return []
    return sweeps.due_again(notified - waiting)
