"""Recording events. Every change writes its event in its own transaction."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Event
from config.db.inserts import insert


@dataclass(frozen=True, slots=True)
class EntityRef:
    """An entity as events name it: by value, since an event outlives its entity.

    `type` is from the contract's enum, `id` a number or a slug, `url` a path below the host.
    """

    type: str
    id: int | str
    label: str
    url: str


def record_event(
    actor: Actor,
    action: str,
    entity: EntityRef | None = None,
    secondary: EntityRef | None = None,
    *,
    message: str = "",
) -> Event:
    """Record an instant change and return its event: status ``notification``, null percent and duration."""
    event = _notification(actor, action, entity, secondary, message)
    insert(event)
    return event


def record_finished(actor: Actor, action: str, entity: EntityRef, secondary: EntityRef | None = None) -> Event:
    """Record the event of a request that needs no job, because the requested state already exists.

    The event is ``finished`` at once, because clients wait for this status.
    """
    event = draft_event(
        username=actor.username,
        account_id=actor.account_id,
        action=action,
        entity=entity,
        secondary=secondary,
        started=True,
    )
    event.status, event.percent_complete, event.duration, event.time_remaining = Event.Status.FINISHED, 100, 0.0, 0
    insert(event)
    return event


def record_events(actor: Actor, action: str, records: Iterable[tuple[EntityRef, EntityRef, str]]) -> None:
    """Record an event for each tuple of entity, secondary and message, as `record_event` does, with one
    statement.
    """
    Event.objects.bulk_create(
        _notification(actor, action, entity, secondary, message) for entity, secondary, message in records
    )


def _notification(
    actor: Actor, action: str, entity: EntityRef | None, secondary: EntityRef | None, message: str
) -> Event:
    return Event(
        account_id=actor.account_id,
        username=actor.username,
        action=action,
        status=Event.Status.NOTIFICATION,
        message=message,
        **_entity(entity),
        **_secondary(secondary),
    )


def open_event(
    *,
    username: str,
    account_id: int,
    action: str,
    entity: EntityRef,
    secondary: EntityRef | None = None,
    started: bool = False,
    message: str = "",
) -> Event:
    """Open the event of a job: ``scheduled``, or at once ``started``, at 0 percent.

    The jobs engine advances the event and ends it. `message` is the reason of a job that nobody requested.
    """
    event = draft_event(
        username=username,
        account_id=account_id,
        action=action,
        entity=entity,
        secondary=secondary,
        started=started,
        message=message,
    )
    insert(event)
    return event


def draft_event(
    *,
    username: str,
    account_id: int,
    action: str,
    entity: EntityRef,
    secondary: EntityRef | None = None,
    started: bool = False,
    message: str = "",
    key: int | None = None,
) -> Event:
    """Return an unsaved event as `open_event` makes it. The caller inserts it with other rows.

    `key` is an id drawn beforehand.
    """
    return Event(
        pk=key,
        account_id=account_id,
        username=username,
        action=action,
        status=Event.Status.STARTED if started else Event.Status.SCHEDULED,
        started=now() if started else None,
        percent_complete=0,
        message=message,
        **_entity(entity),
        **_secondary(secondary),
    )


@transaction.atomic
def mark_seen(actor: Actor, event: Event) -> None:
    """Mark the event and all earlier ones as seen. Events that the actor may not change are skipped."""
    unseen = Event.objects.writable_by(actor).filter(pk__lte=event.pk, seen=False)
    # The rows are locked in one order, so that two requests that mark the same events wait and do not deadlock.
    locked = unseen.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True)
    Event.objects.filter(pk__in=list(locked)).update(seen=True)


def mark_read(event: Event) -> None:
    """Mark this one event as read."""
    Event.objects.filter(pk=event.pk, read=False).update(read=True)


def _entity(ref: EntityRef | None) -> dict:
    if ref is None:
        return {}
    return {
        "entity_type": ref.type,
        "entity_id": ref.id,
        "entity_label": ref.label,
        "entity_url": ref.url,
    }


def _secondary(ref: EntityRef | None) -> dict:
    if ref is None:
        return {}
    return {
        "secondary_type": ref.type,
        "secondary_id": str(ref.id),
        "secondary_label": ref.label,
        "secondary_url": ref.url,
    }
