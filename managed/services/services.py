"""Monitored services: create, change, disable, enable, delete. `probing` settles the outcomes of checks."""

from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models.functions import Least, Now

from accounts.actors import Actor
from accounts.services.account import lock_account
from accounts.services.events import record_event
from config.db.rows import differing, lock, write
from config.egress import guard, resolver
from config.errors import Invalid, Problems
from managed.models import Credential, Service
from managed.services import targets
from managed.services.contacts import ACTION
from managed.services.incidents import leave
from managed.services.quotas import check_quota
from managed.services.refs import service_ref
from regions.models import Region

TARGET = ("service_type", "address", "region_id")
"""Columns whose values must fit each other."""
WATCHED = (*TARGET, "body", "timeout")
"""Columns whose change alters the target of checks: earlier outcomes do not count any more."""


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """A client's values for a service: those of columns, and the ids of `credentials`, or None to keep them."""

    values: dict[str, Any] = field(default_factory=dict)
    credentials: list[int] | None = None


def create(actor: Actor, spec: ServiceSpec, problems: Problems | None = None) -> Service:
    """Add a service, which is pending until its first check, due at once.

    Raises `Invalid` with every failing field: ``address`` if the platform does not check that address, ``region``
    if region and address do not fit, ``credentials`` if the account does not have one of them. Raises `Invalid`
    without a field as `check_quota` does. No name is looked up, since its name servers may never answer: the first
    check judges it.
    """
    service = Service(account_id=actor.account_id, **_checked(actor, {}, spec, problems))
    with transaction.atomic():
        check_quota(actor, Service)
        service.save()
        service.credentials.set(spec.credentials or [])
        record_event(actor, "managed_service_create", service_ref(service))
    return service


def update(actor: Actor, service: Service, spec: ServiceSpec, problems: Problems | None = None) -> None:
    """Change the values that differ. A change of a `WATCHED` column makes the service pending again.

    The target is checked before the transaction, and again if another request changed it meanwhile: the given
    columns of the target must fit the stored ones.
    """
    while (meanwhile := _update(actor, service, spec, problems)) is not None:
        service = meanwhile


def _update(actor: Actor, service: Service, spec: ServiceSpec, problems: Problems | None) -> Service | None:
    """Make the change and return None. If the target was not checked, return the current service instead."""
    seen = {name: getattr(service, name) for name in TARGET}
    values = _checked(actor, seen, spec, problems)
    with transaction.atomic():
        locked = _lock_row(service)
        if differing(locked, seen):
            return locked
        wanted = differing(locked, values)
        if not locked.body and not wanted.get("body"):
            wanted.pop("body", None)  # null and "" both mean that no text is searched
        if wanted:
            write(locked, wanted, "updated")
        changed = _set_credentials(locked, spec.credentials)
        if any(name in WATCHED for name in wanted) and locked.status != Service.Status.DISABLED:
            leave(locked, f"{locked.label} was changed.")
            _restart(locked)
        if wanted or changed:
            record_event(actor, ACTION, service_ref(locked), message=f"The service {locked.label} was changed.")
    return None


@transaction.atomic
def disable(actor: Actor, service: Service) -> None:
    """Stop the checks of a service. Does nothing if the service is disabled already."""
    locked = _lock_row(service)
    if locked.status == Service.Status.DISABLED:
        return
    leave(locked, f"{locked.label} is not watched any more.")
    locked.status, locked.failures = Service.Status.DISABLED, 0
    # Advance the fence: a check in progress must not enable the service again.
    locked.fence, locked.lease_until = locked.fence + 1, None
    locked.save(update_fields=["status", "failures", "fence", "lease_until", "updated"])
    record_event(actor, ACTION, service_ref(locked), message=f"The service {locked.label} was disabled.")


@transaction.atomic
def enable(actor: Actor, service: Service) -> None:
    """Start the checks of a service again, the first at once. Does nothing if the service is enabled already."""
    locked = _lock_row(service)
    if locked.status != Service.Status.DISABLED:
        return
    _restart(locked)
    record_event(actor, ACTION, service_ref(locked), message=f"The service {locked.label} was enabled.")


@transaction.atomic
def check_now(actor: Actor, service: Service) -> None:
    """Make the next check due at once, for staff.

    Raises `Invalid` if a check is in progress, the service is disabled, or its account is not monitored.
    """
    locked = _lock_row(service)
    if locked.status == Service.Status.DISABLED:
        raise Invalid("The service is disabled. Enable it to start a check.")
    if not (locked.account.is_active and locked.account.managed):
        raise Invalid("The service is not checked, because its account is suspended or managed is off.")
    if Service.objects.filter(pk=locked.pk, lease_until__gt=Now()).exists():  # on the database's clock, like leases
        raise Invalid("A check of the service is running now.")
    # a late service keeps its place in the queue
    locked.next_check_at = Least("next_check_at", Now())
    locked.save(update_fields=["next_check_at"])
    record_event(actor, ACTION, service_ref(locked), message=f"A check of {locked.label} was requested.")


@transaction.atomic
def delete(actor: Actor, service: Service) -> None:
    """Delete a service with its measurements. Raises `Missing` if another request was first."""
    locked = _lock_row(service, to_delete=True)
    leave(locked, f"{locked.label} was deleted.")
    ref = service_ref(locked)
    locked.delete()
    record_event(actor, "managed_service_delete", ref)


def _lock_row(service: Service, *, to_delete: bool = False) -> Service:
    """Lock the account, then the service, and return the service. Raises `Missing` if the service is gone.

    Other transactions may insert rows that refer to it, such as averages, unless it is locked `to_delete`.
    """
    lock_account(service.account_id)
    return lock(Service.objects.filter(pk=service.pk), to_delete=to_delete)


def _restart(service: Service) -> None:
    """Make the service like a new one: pending and due at once.

    The outcome of a check in progress will not count.
    """
    service.status, service.failures, service.error = Service.Status.PENDING, 0, ""
    service.fence, service.lease_until, service.next_check_at = service.fence + 1, None, Now()
    columns = ("status", "failures", "error", "fence", "lease_until", "next_check_at", "updated")
    service.save(update_fields=columns)
    service.refresh_from_db(fields=["next_check_at"])


def _set_credentials(service: Service, wanted: list[int] | None) -> bool:
    if wanted is None or set(wanted) == set(service.credentials.values_list("pk", flat=True)):
        return False
    service.credentials.set(wanted)
    return True


def _checked(actor: Actor, before: dict[str, Any], spec: ServiceSpec, problems: Problems | None) -> dict[str, Any]:
    """Return the values of `spec`, with the address normalised. Raises `Invalid` with all wrong fields at once."""
    values, problems = dict(spec.values), problems or Problems()
    if spec.credentials is not None and not _own(actor, spec.credentials):
        problems.add("credentials", "credentials is not valid")
    target = {"region_id": None, **before, **{name: values[name] for name in TARGET if name in values}}
    if target != {"region_id": None, **before}:
        region = target["region_id"]
        if region is not None and not Region.objects.filter(pk=region).exists():
            problems.add("region", "region is not valid")
        if "service_type" not in problems and "address" not in problems:
            values["address"] = _check_address(target, problems)
    problems.raise_any()
    return values


def _check_address(target: dict[str, Any], problems: Problems) -> str:
    """Return the normalised address of the columns in `target`. It is valid only if there are no problems."""
    try:
        parsed = targets.parse(target["service_type"], target["address"])
        address = targets.normalised(target["service_type"], target["address"])
    except Invalid as error:
        for problem in error.problems:
            problems.add(problem.field, problem.reason)
        return ""
    _check_target(parsed, target["region_id"] is not None, problems)
    return address


def _own(actor: Actor, wanted: list[int]) -> bool:
    return Credential.objects.visible_to(actor).filter(pk__in=wanted).count() == len(set(wanted))


def _check_target(target: targets.Target, private: bool, problems: Problems) -> None:
    """Refuse a target that will never be checked, as far as this is known without name servers.

    A stranger's name server may answer late, and a web process does not wait for it. The prober checks the
    addresses of a name at each check. If it refuses them, the service is down with the reason.
    """
    address = resolver.LOCAL if resolver.is_local(target.host) else target.literal
    if address is None:
        return
    refusal = guard.refusal([address], private)
    if refusal == guard.FORBIDDEN:
        problems.add("address", refusal)
    elif refusal is not None and "region" not in problems:
        problems.add("region", refusal)
