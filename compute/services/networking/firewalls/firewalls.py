"""Firewalls: creating, changing and deleting them, and putting them on instances.

A change of an instance's packet filter is recorded for its host in the same transaction
(`delivery`). The firewall is locked first, then the instances it is on in the order of their keys.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from accounts.actors import Actor
from accounts.services import quotas
from accounts.services.account import lock_account
from accounts.services.events import record_event, record_events
from accounts.services.grants import forget_entity, grant_creator
from compute.models import Firewall, FirewallDevice, Instance
from compute.models.networking.firewalls import open_rules
from compute.refs import firewall_ref, instance_ref
from compute.services.common.locks import lock_present, named_instances
from compute.services.networking.firewalls import delivery
from compute.services.networking.firewalls.rules import checked
from config.db.rows import lock
from config.db.unique import note_taken
from config.errors import Busy, Denied, Missing, Problems
from tags.services import check_tags, differing_tags, set_tags, untag

ENABLED = Firewall.Status.ENABLED
HAS_FIREWALL = "The compute has an enabled firewall already."


@dataclass(frozen=True, slots=True)
class FirewallSpec:
    """A client's request for a new firewall.

    A request without label or rules is refused, because they failed a check before.
    """

    label: str | None
    rules: Mapping[str, Any] | None
    computes: Sequence[int] = ()
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FirewallChanges:
    """The fields that a PUT gave."""

    label: str | None = None
    status: str | None = None
    tags: Sequence[str] | None = None


@transaction.atomic
def create(actor: Actor, spec: FirewallSpec, problems: Problems | None = None) -> Firewall:
    """Create an enabled firewall, and put it on the instances that are named.

    Raises `Invalid` with every failing field, after those in `problems`. Raises `Denied` on an instance that the
    actor may only read.
    """
    problems = problems or Problems()
    quotas.check_quota(actor, "firewalls", Firewall.objects.filter(account_id=actor.account_id), problems)
    rules = checked(spec.rules or {}, open_rules(), problems, within="rules.")
    if spec.tags:
        check_tags(actor, spec.tags, problems)
    locked = _named(actor, spec.computes, problems)
    firewall = Firewall(account_id=actor.account_id, label=spec.label or "", rules=rules)
    note_taken(firewall, problems)
    problems.raise_any()
    for instance in locked:
        _check_stays(instance)
    firewall.save(force_insert=True)
    if spec.tags:
        firewall.tags = set_tags(actor.account_id, "firewall", firewall.pk, list(spec.tags))
        firewall.save(update_fields=["tags"])
    grant_creator(actor, "firewall", firewall.pk)
    record_event(actor, "firewall_create", firewall_ref(firewall))
    _put(actor, firewall, locked)
    delivery.changed(instance.pk for instance in locked)
    return firewall


@transaction.atomic
def update(actor: Actor, firewall: Firewall, given: FirewallChanges, problems: Problems | None = None) -> Firewall:
    """Write the values that differ, with one event for the status and one for the rest. Returns the firewall anew.

    Raises `Invalid` with every failing field: ``status`` if an instance of the firewall has another enabled one.
    """
    locked = _lock_row(firewall)
    label = given.label if given.label != locked.label else None
    status = given.status if given.status != locked.status else None
    tags = differing_tags(given.tags, locked.tags)
    problems = problems or Problems()
    if tags is not None:
        check_tags(actor, tags, problems)
    instances = lock_present(locked.devices.values("instance")).values() if status else []
    if status == ENABLED and _filtered(instances):
        problems.add("status", "A compute with this firewall has another enabled firewall already.")
    locked.label = locked.label if label is None else label
    note_taken(locked, problems)
    problems.raise_any()
    if label is not None or tags is not None:
        locked.tags = locked.tags if tags is None else set_tags(locked.account_id, "firewall", locked.pk, tags)
        locked.save(update_fields=["label", "tags", "updated"])
        record_event(actor, "firewall_update", firewall_ref(locked))
    if status is not None:
        _set_status(actor, locked, status, instances)
    return locked


@transaction.atomic
def set_rules(
    actor: Actor, firewall: Firewall, given: Mapping[str, Any], problems: Problems | None = None
) -> Firewall:
    """Replace the lists and policies that are given. Returns the firewall anew.

    Raises `Invalid` with everything that is wrong with the rules.
    """
    locked = _lock_row(firewall)
    problems = problems or Problems()
    rules = checked(given, locked.rules, problems)
    problems.raise_any()
    if rules != locked.rules:
        locked.rules = rules
        locked.save(update_fields=["rules", "updated"])
        record_event(actor, "firewall_update", firewall_ref(locked))
        _request_delivery(locked)
    return locked


@transaction.atomic
def delete(actor: Actor, firewall: Firewall) -> None:
    """Delete a firewall with its grants and tags. Its instances are no longer filtered."""
    locked = _lock_row(firewall)
    _request_delivery(locked)
    forget_entity("firewall", locked.pk)
    untag("firewall", locked.pk)
    record_event(actor, "firewall_delete", firewall_ref(locked))
    locked.delete()


@transaction.atomic
def add_device(
    actor: Actor, firewall: Firewall, instance_id: int | None, problems: Problems | None = None
) -> FirewallDevice:
    """Put a firewall on an instance that the actor may change, even if a job runs there.

    Nothing changes if the firewall is already on the instance. Raises `Invalid` on ``id`` if there is no such
    instance, or if both this firewall and another one there are enabled. Raises `Denied` if the actor may only read
    the instance, `Busy` while it is being deleted.
    """
    problems = problems or Problems()
    locked = _lock_row(firewall)
    wanted = () if instance_id is None else (instance_id,)
    instance = next(iter(lock_present(named_instances(actor, wanted, "id")).values()), None)
    if instance is None and "id" not in problems:
        problems.add("id", "id is not valid")
    present = instance and locked.devices.filter(instance=instance).first()
    if instance and not present and locked.status == ENABLED and _filtered([instance]):
        problems.add("id", HAS_FIREWALL)
    instance = problems.checked(instance)
    _check_stays(instance)
    if present:
        return present
    (device,) = _put(actor, locked, [instance])
    if device.enabled:
        delivery.changed([instance.pk])
    return device


@transaction.atomic
def remove_device(actor: Actor, device: FirewallDevice) -> None:
    """Take a firewall off an instance, which the actor must be allowed to change."""
    firewall = _lock_row(device.firewall)
    named_instances(actor, [device.instance_id])
    instance = lock_present([device.instance_id]).get(device.instance_id)
    locked = FirewallDevice.objects.filter(pk=device.pk).first()
    if instance is None or locked is None:
        raise Missing
    locked.delete()
    record_event(actor, "firewall_device_remove", firewall_ref(firewall), instance_ref(instance))
    if locked.enabled:
        delivery.changed([instance.pk])


def named_firewall(actor: Actor, firewall_id: int | None, problems: Problems) -> Firewall | None:
    """Lock and return the firewall for a new instance. Return None and add a problem if it does not exist.

    Raises `Denied` on ``firewall_id`` if the actor may only read the firewall.
    """
    if firewall_id is None:
        return None
    lock_account(actor.account_id)  # VLANs of the new instance need this lock, which comes before firewalls
    rows = Firewall.objects.filter(pk=firewall_id)
    locked = (
        rows.filter(pk__in=Firewall.objects.visible_to(actor).values("pk")).select_for_update(no_key=True).first()
    )
    if locked is None:
        problems.add("firewall_id", "firewall_id is not valid")
    elif not Firewall.objects.writable_by(actor).filter(pk=firewall_id).exists():
        raise Denied(field="firewall_id")
    return locked


def put_on_new(actor: Actor, firewall: Firewall, instance: Instance) -> None:
    """Put a locked firewall on an instance that the same transaction inserts together with its `first_filters`."""
    _put(actor, firewall, [instance])


def leave(instance: Instance) -> None:
    """Take every firewall off an instance that is being deleted; its host drops the filter with the machine."""
    devices = FirewallDevice.objects.filter(instance=instance)
    locked = list(devices.select_related("firewall").order_by("pk"))
    gone = instance_ref(instance), "The compute was deleted."
    record_events(
        Actor.platform(instance.account_id), "firewall_device_remove",
        ((firewall_ref(device.firewall), *gone) for device in locked),
    )  # fmt: skip
    devices.delete()


@transaction.atomic
def deliver_again(instance_id: int) -> None:
    """Deliver an instance's packet filter to its host once more, though it has not changed; for staff."""
    delivery.changed(instance.pk for instance in lock_present([instance_id]).values())


def _lock_row(firewall: Firewall) -> Firewall:
    """Lock the firewall and read it anew: one request at a time writes a firewall and its devices."""
    return lock(Firewall.objects.filter(pk=firewall.pk))


def _filtered(instances: Iterable[Instance]) -> set[int]:
    """Return the keys of the locked instances that have an enabled firewall."""
    devices = FirewallDevice.objects.filter(instance__in=instances, enabled=True)
    return set(devices.values_list("instance_id", flat=True))


def _request_delivery(firewall: Firewall) -> int:
    """Record a new packet filter for all instances that the locked firewall filters; returns how many instances."""
    instances = lock_present(firewall.devices.filter(enabled=True).values("instance")).values()
    delivery.changed(instance.pk for instance in instances)
    return len(instances)


def _set_status(actor: Actor, firewall: Firewall, status: str, instances: Iterable[Instance]) -> None:
    """Enable or disable a firewall, on the locked instances."""
    firewall.status = status
    firewall.save(update_fields=["status", "updated"])
    firewall.devices.update(enabled=status == ENABLED)
    action = "firewall_enable" if status == ENABLED else "firewall_disable"
    record_event(actor, action, firewall_ref(firewall))
    delivery.changed(instance.pk for instance in instances)


def _put(actor: Actor, firewall: Firewall, instances: Sequence[Instance]) -> list[FirewallDevice]:
    """Put a firewall on locked instances."""
    enabled = firewall.status == ENABLED
    devices = FirewallDevice.objects.bulk_create(
        FirewallDevice(firewall=firewall, instance=instance, enabled=enabled) for instance in instances
    )
    added = firewall_ref(firewall)
    record_events(actor, "firewall_device_add", ((added, instance_ref(instance), "") for instance in instances))
    return devices


def _named(actor: Actor, computes: Sequence[int], problems: Problems) -> list[Instance]:
    """Lock and return the instances that a create names. None of them may have an enabled firewall."""
    field = "devices.computes"
    locked = lock_present(named_instances(actor, computes, field))
    filtered = _filtered(locked.values())
    for index, pk in enumerate(computes):
        if pk not in locked:
            problems.add(f"{field}[{index}]", f"{pk} is not valid")
        elif pk in filtered:
            problems.add(f"{field}[{index}]", HAS_FIREWALL)
    return list(locked.values())


def _check_stays(instance: Instance) -> None:
    if instance.status == Instance.Status.DELETING:
        raise Busy
