"""Enqueueing jobs: the one way in which the status of an instance starts to change."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Model
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.models import Event
from accounts.services.events import EntityRef, draft_event, open_event
from compute.jobs.data import JobData, UnreadableData
from compute.jobs.definition import KINDS, Kind
from compute.jobs.notify import notify
from compute.models import Instance, Job, Volume
from compute.refs import instance_ref
from config.db.inserts import FromNow, insert, insert_together
from config.encryption import encrypt_json
from config.errors import Busy, Invalid, Missing, Problems
from config.processes.tracing import span, traceparent

NO_DATA = JobData()


def enqueue(
    kind_name: str,
    instance: Instance,
    actor: Actor,
    *,
    data: JobData | None = None,
    secrets: dict[str, Any] | None = None,
    secondary: EntityRef | None = None,
    action: str | None = None,
    source: Instance | None = None,
    volume: Volume | None = None,
    about: EntityRef | None = None,
    message: str = "",
) -> Job:
    """Set the instance to the kind's status, and insert the job with its event, in the caller's transaction.

    Raises `Busy` while another job of the instance is live, `Invalid` naming the status if the kind cannot start
    from it, and `Missing` if the instance was deleted meanwhile.

    `data` is of the kind's class. `secrets` are encrypted, and deleted when the job ends. `action` replaces the
    kind's own action: the watchdog's boots are ``lassie_reboot``. `source` is the instance that a clone copies, and
    also the entity of the event. `volume` is the volume that the job works on; the caller has locked its row.
    `about` is the entity of the event if it is not the instance. `message` is the reason for a job that the
    platform starts by itself.
    """
    _check_transaction()
    kind = KINDS[kind_name]
    superseded = kind.supersedes and _cancel_live_job(instance.pk)
    _set_status(kind, instance)
    if not superseded and Job.objects.filter(instance=instance, state__in=Job.LIVE).exists():
        # a live job that leaves the status alone; the lock on the instance's row keeps further jobs out
        raise Busy
    event = open_event(
        username=actor.username,
        account_id=instance.account_id,
        action=action or kind.event,
        entity=about or instance_ref(source or instance),
        secondary=secondary,
        message=message,
    )
    job = _draft(kind, instance, actor, event, data or NO_DATA, secrets)
    job.source, job.volume = source, volume
    if superseded:
        job.state = Job.State.QUEUED
    insert(job)
    if not superseded:
        _notify_after_commit(job)
    return job


def enqueue_with_rows(
    kind_name: str,
    instance: Instance,
    actor: Actor,
    *,
    keys: tuple[int, int],
    rows: Sequence[Model],
    data: JobData,
    secrets: dict[str, Any],
    secondary: EntityRef | None,
    action: str | None = None,
    source: Instance | None = None,
) -> Job:
    """Enqueue a job, as `enqueue` does, for an instance that the same transaction inserts, with the kind's status
    already set.

    `rows` are the instance's rows. One statement inserts them together with the event and the job. `keys` are the
    primary keys of the event and the job.
    """
    kind = KINDS[kind_name]
    event_key, job_key = keys
    event = draft_event(
        key=event_key,
        username=actor.username,
        account_id=instance.account_id,
        action=action or kind.event,
        entity=instance_ref(source or instance),
        secondary=secondary,
    )
    job = _draft(kind, instance, actor, event, data, secrets)
    job.source = source
    job.pk = job_key
    insert_together(*rows, event, job)
    _notify_after_commit(job)
    return job


def enqueue_alone(
    kind_name: str, actor: Actor, event: Event | None, data: JobData, volume: Volume | None = None
) -> Job:
    """Insert a job on no instance, in the caller's transaction, which opened `event`; None for a job without an
    event.

    `volume` is the volume that the job works on; the caller has locked its row.
    """
    job = _draft(KINDS[kind_name], None, actor, event, data, None)
    job.volume = volume
    insert(job)
    _notify_after_commit(job)
    return job


def _cancel_live_job(instance_id: int) -> bool:
    """Cancel the instance's live job and make it ready; False if there is none. Locks the job before the
    instance."""
    live = Job.objects.filter(instance_id=instance_id, state__in=Job.LIVE)
    job = live.select_for_update(no_key=True).first()
    if job is None or _detach_outliving(job):
        return False
    notified = job.ready and job.notified_at is not None and job.lease_until is None
    # the next claim ends the job without copying data, so it counts as interactive
    live.update(cancelled=True, bulk=False, run_at=Now(), ready=True)
    if not notified:
        live.update(notified_at=Now())
        transaction.on_commit(partial(notify, job.pk), robust=True)
    return True


def _detach_outliving(job: Job) -> bool:
    """Detach a locked job that outlives its instance, so that it starts again from its first step; False for other
    jobs.

    A worker that is running the job loses the lease, and writes nothing more. Its further effects on the instance's
    machine are removed with the machine.
    """
    kind = KINDS.get(job.kind)
    if kind is None or kind.outlives is None or job.state != Job.State.ACTIVE or job.cancelled:
        return False  # another release's, or it is being undone
    try:
        data = kind.outlives(kind.read(job.data))
    except UnreadableData:
        return False
    Job.objects.filter(pk=job.pk).update(
        instance=None,
        data=data.to_json(),
        step=kind.plan(data)[0].name,
        step_began=Now(),
        step_seconds={},
        fence=F("fence") + 1,
        lease_until=None,
        share_slot=None,
        share_host=0,
        ready=True,
        attempt=0,
        error="",
        run_at=Now(),
        notified_at=Now(),
    )
    transaction.on_commit(partial(notify, job.pk), robust=True)
    return True


def _set_status(kind: Kind, instance: Instance) -> None:
    """Set the status by a conditional UPDATE, which succeeds for exactly one of many racing requests."""
    free = Instance.objects.filter(pk=instance.pk, status__in=kind.starts_from)
    if kind.during is None:
        # the status stays, but no other job may change it before this one is in the table
        if free.update(status=F("status")):
            return
    elif free.update(status=kind.during, updated=Now()):
        instance.status = kind.during
        return
    status = Instance.objects.filter(pk=instance.pk).values_list("status", flat=True).first()
    if status is None:
        raise Missing
    if status not in Instance.SETTLED and not kind.supersedes:
        raise Busy
    raise Invalid(_cannot(kind, status))


def note_refusal(kind_name: str, instance: Instance, problems: Problems) -> None:
    """Add a problem without a field if the settled status of a locked instance allows no job of this kind.

    The answer then names this reason together with the failing fields. An instance that is not settled is busy:
    `enqueue` reports this.
    """
    kind = KINDS[kind_name]
    if instance.status in Instance.SETTLED and instance.status not in kind.starts_from:
        problems.add(None, _cannot(kind, instance.status))


def refusal(kind_name: str, status: str, *, busy: bool) -> str:
    """Return the reason for which `enqueue` would refuse a job of this kind now, or an empty text if it would not.

    `status` is the instance's, and `busy` tells whether another job of the instance is live. Pages use it to show a
    verb as unavailable. The answer may have changed by the time the verb is used.
    """
    kind = KINDS[kind_name]
    settled = status in Instance.SETTLED
    if not kind.supersedes and (busy or not settled):
        return str(Busy())
    return "" if status in kind.starts_from else _cannot(kind, status)


def _cannot(kind: Kind, status: str) -> str:
    return f"Cannot {kind.verb} a compute that is {status.replace('_', ' ')}."


def _check_transaction() -> None:
    if not connection.in_atomic_block:
        raise RuntimeError("a job is enqueued in the transaction of the change that needs it")


def _draft(
    kind: Kind,
    instance: Instance | None,
    actor: Actor,
    event: Event | None,
    data: JobData,
    secrets: dict[str, Any] | None,
) -> Job:
    """Return the row of a job that stands at its first step."""
    _check_transaction()
    if type(data) is not kind.data:
        raise TypeError(f"a job of kind {kind.name} carries {kind.data.__name__}, not {type(data).__name__}")
    with span(f"enqueue {kind.name}", "producer", {"skerry.job.kind": kind.name}) as traced:
        traced.note({"skerry.instance.id": None if instance is None else instance.pk})
        began = traceparent()
    account_id = instance.account_id if instance else event.account_id if event else None
    return Job(
        instance=instance,
        event=event,
        account_id=0 if account_id is None else account_id,
        bulk=not kind.interactive,
        share_host=0 if instance is None else instance.host_id,
        ready=True,
        kind=kind.name,
        step=kind.plan(data)[0].name,
        data=data.to_json(),
        encrypted=encrypt_json(secrets) if secrets else None,
        created_by=actor.username,
        traceparent=began,
        notified_at=FromNow(),
        deadline_at=FromNow(kind.deadline),
    )


def _notify_after_commit(job: Job) -> None:
    transaction.on_commit(partial(notify, job.pk), robust=True)


def run_now(job: Job) -> bool:
    """Make a waiting or retrying job due now; False if the job is finished, queued or at work."""
    return _make_due(job)


def cancel(job: Job) -> bool:
    """Cancel an active job: its next claim rolls it back, as after a failure.

    False for a job in any other state. A step past the point of no return is not undone; the job then ends with the
    status that the driver confirms.
    """
    with transaction.atomic():
        going = Job.objects.filter(pk=job.pk, state=Job.State.ACTIVE)
        if not going.update(cancelled=True, ready=True):
            return False
        _make_due(job)
    return True


def give_up(job: Job, reason: str) -> bool:
    """Mark a job that is undoing to end at its next claim, and to leave behind what it has not undone by then.

    False for a job in any other state. `reason` is a sentence that customers read too. A worker that is running the
    job may still undo something. Nobody else writes the data of an undoing job.
    """
    with transaction.atomic():
        undoing = Job.objects.filter(pk=job.pk, state=Job.State.UNDOING)
        locked = undoing.select_for_update(no_key=True).first()
        if locked is None:
            return False
        undoing.update(data={**locked.data, "given_up": reason}, ready=True)
        _make_due(job)
    return True


def _make_due(job: Job) -> bool:
    """Make a live job that no worker runs due now, and notify workers. False if there is no such job."""
    waiting = Job.objects.filter(pk=job.pk, state__in=Job.LIVE, lease_until=None)
    moved = waiting.update(run_at=Now(), ready=True, notified_at=Now())
    transaction.on_commit(partial(notify, job.pk), robust=True)
    return bool(moved)
