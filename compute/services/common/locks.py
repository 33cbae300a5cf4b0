"""Instances: the ones that an actor names and may change, and their rows locked for what is about to be written.

Every function that locks reads the row anew and keeps it locked until the transaction ends. Several are always
locked in the order of their keys, so that no two transactions wait for each other. What is locked before and after
an instance is in docs/locking.md.
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
    """The instance named in `field`. None where none of this id exists for the actor, which is noted.

    Raises `Denied` on the field where the actor may only read it.
    """
    instance = Instance.objects.visible_to(actor).filter(pk=instance_id).first()
    if instance is None:
        problems.add(field, f"{field} is not valid")
        return None
    check_writable(actor, instance, field)
    return instance


def named_instances(actor: Actor, instance_ids: Iterable[int], field: str | None = None) -> dict[int, Instance]:
    """Those of the instances that exist for the actor. Raises `Denied` where it may only read one of them."""
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
    """The instance with its type, host and region, whatever its status. Raises `Missing` when it went away."""
    return lock(Instance.objects.filter(pk=instance.pk).select_related("type", "host", "region"))


def lock_idle(instance: Instance) -> Instance:
    """As `lock_any`, with no job on it: neither its type nor its disks change meanwhile.

    Raises `Busy` while a job lives or its status is not a settled one.
    """
    locked = lock_any(instance)
    if locked.status not in Instance.SETTLED or Job.objects.filter(instance=locked, state__in=Job.LIVE).exists():
        raise Busy
    return locked


def lock_alive(instance_id: int) -> Instance:
    """The instance with its type and region, whatever job runs on it: only one at a time writes its profiles.

    Raises `Missing` when it went away, `Busy` while it goes.
    """
    locked = lock(Instance.objects.filter(pk=instance_id).select_related("type", "region"))
    if locked.status == Instance.Status.DELETING:
        raise Busy
    return locked


def lock_present(instance_ids: Ids, *related: str) -> dict[int, Instance]:
    """Those of the instances that are still there, in the order of their keys, with what is `related` to them."""
    rows = Instance.objects.filter(pk__in=instance_ids)
    if related:  # select_related() without a name follows every one
        rows = rows.select_related(*related)
    return {row.pk: row for row in rows.order_by("pk").select_for_update(no_key=True, of=("self",))}


def lock_all(instance_ids: Iterable[int], *related: str) -> dict[int, Instance]:
    """As `lock_present`. Raises `Missing` where one of the instances went away."""
    wanted = set(instance_ids)
    locked = lock_present(wanted, *related)
    if len(locked) < len(wanted):
        raise Missing
    return locked


def lock_unread(instance_ids: Ids) -> None:
    """Lock those of the instances that are still there, for what is written beside them."""
    list(Instance.objects.filter(pk__in=instance_ids).order_by("pk").select_for_update(no_key=True).values("pk"))
