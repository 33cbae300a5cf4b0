"""Instances: finding those that an actor names and may change, and locking their rows before a write.

Every function that locks reads the row anew and keeps it locked until the transaction ends. Several rows are always
locked in the order of their keys, so that transactions do not deadlock. docs/locking.md has the order of locks
before and after an instance's.
"""

from collections.abc import Iterable

from django.db.models import BigIntegerField, QuerySet

from accounts.actors import Actor
from compute.models import Instance, Job
from config.db.rows import lock
from config.errors import Busy, Denied, Missing, Problems

Ids = Iterable[int] | QuerySet

# --- naming ---------------------------------------------------------------------------------------------------


def named_instance(actor: Actor, instance_id: int, field: str, problems: Problems) -> Instance | None:
    """Return the instance of this id; None, with a problem on `field`, if no such instance exists for the actor.

    Raises `Denied` on the field if the actor may only read the instance.
    """
    instance = Instance.objects.visible_to(actor).filter(pk=instance_id).first()
    if instance is None:
        problems.add(field, f"{field} is not valid")
        return None
    check_writable(actor, instance, field)
    return instance


def named_instances(actor: Actor, instance_ids: Iterable[int], field: str | None = None) -> dict[int, Instance]:
    """Return the instances that the actor sees, by id. Raises `Denied` if the actor may only read one of them."""
    wanted = {pk for pk in instance_ids if 0 < pk <= BigIntegerField.MAX_BIGINT}
    found = {row.pk: row for row in Instance.objects.visible_to(actor).filter(pk__in=wanted)}
    if actor.restricted and Instance.objects.writable_by(actor).filter(pk__in=wanted).count() < len(found):
        raise Denied(field=field)
    return found


def check_writable(actor: Actor, instance: Instance, field: str | None = None) -> None:
    """Raise `Denied` unless the actor may change the instance."""
    if not Instance.objects.writable_by(actor).filter(pk=instance.pk).exists():
        raise Denied(field=field)


# --- locking --------------------------------------------------------------------------------------------------


def lock_any(instance: Instance) -> Instance:
    """Lock an instance of any status. Raises `Missing` if it is gone."""
    return lock(Instance.objects.filter(pk=instance.pk))


def is_busy(locked: Instance) -> bool:
    """Tell whether a job of the locked instance is live, or the instance's status is not a settled one.

    A service raises `Busy` after it has named all failing fields. While the instance is busy, the service does not
    check values that the job may be changing, such as disk space and the states of disks. Clients try again when
    the job is over.
    """
    return locked.status not in Instance.SETTLED or Job.objects.filter(instance=locked, state__in=Job.LIVE).exists()


def check_idle(locked: Instance) -> None:
    """Raise `Busy` if the locked instance is busy. Call it after all other checks, because `Busy` is answered
    alone."""
    if is_busy(locked):
        raise Busy


def lock_alive(instance_id: int) -> Instance:
    """Lock an instance, whatever job runs on it, so that one request at a time writes its profiles.

    Raises `Missing` if it is gone, `Busy` while it is being deleted.
    """
    locked = lock(Instance.objects.filter(pk=instance_id))
    if locked.status == Instance.Status.DELETING:
        raise Busy
    return locked


def lock_present(instance_ids: Ids) -> dict[int, Instance]:
    """Lock the instances that still exist, in the order of their keys; return them by id."""
    rows = Instance.objects.filter(pk__in=instance_ids)
    return {row.pk: row for row in rows.order_by("pk").select_for_update(no_key=True)}


def lock_all(instance_ids: Iterable[int]) -> dict[int, Instance]:
    """As `lock_present`. Raises `Missing` if one of the instances is gone."""
    wanted = set(instance_ids)
    locked = lock_present(wanted)
    if len(locked) < len(wanted):
        raise Missing
    return locked


def lock_unread(instance_ids: Ids) -> None:
    """Lock the instances that still exist without reading them, for a write to rows that belong to them."""
    list(Instance.objects.filter(pk__in=instance_ids).order_by("pk").select_for_update(no_key=True).values("pk"))
