"""Services that are watched: made, changed, turned off and on, deleted. What the prober finds is in `probing`."""

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
"""Columns that have to fit each other."""
WATCHED = (*TARGET, "body", "timeout")
"""Columns whose change makes of a service another one to check: what was found of it does not count any more."""


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """What a client wants of a service: values of columns, and the ids of `credentials`, None to leave them."""

    values: dict[str, Any] = field(default_factory=dict)
    credentials: list[int] | None = None


def create(actor: Actor, spec: ServiceSpec) -> Service:
    """Add a service, which is pending until its first check, due at once.

    Raises `Invalid` on ``address`` where the platform does not check it, on ``region`` where the address and it do
    not fit, and on ``credentials`` that the account has not; without a field as `check_quota` does. Names are
    looked up before the transaction.
    """
    service = Service(account_id=actor.account_id, **_checked(actor, {}, spec))
    with transaction.atomic():
        check_quota(actor, Service)
        service.save()
        service.credentials.set(spec.credentials or [])
        record_event(actor, "managed_service_create", service_ref(service))
    return service


def update(actor: Actor, service: Service, spec: ServiceSpec) -> None:
    """Change what is given and differs. One that is to be checked otherwise than before is pending again.

    Names are looked up before the transaction, and again where somebody changed the target meanwhile: what is
    given of it has to fit what it is put beside.
    """
    while (meanwhile := _update(actor, service, spec)) is not None:
        service = meanwhile


def _update(actor: Actor, service: Service, spec: ServiceSpec) -> Service | None:
    """None where it is done; else the service as it is now, with a target that nothing was held against."""
    seen = {name: getattr(service, name) for name in TARGET}
    values = _checked(actor, seen, spec)
    with transaction.atomic():
        locked = _lock_row(service)
        if differing(locked, seen):
            return locked
        wanted = differing(locked, values)
        if not locked.body and not wanted.get("body"):
            wanted.pop("body", None)  # null and "" are both no text to look for
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
    """Stop the checks. Nothing happens where they are stopped already."""
    locked = _lock_row(service)
    if locked.status == Service.Status.DISABLED:
        return
    leave(locked, f"{locked.label} is not watched any more.")
    locked.status, locked.failures = Service.Status.DISABLED, 0
    # the fence: a check that is under way must not turn it on again
    locked.fence, locked.lease_until = locked.fence + 1, None
    locked.save(update_fields=["status", "failures", "fence", "lease_until", "updated"])
    record_event(actor, ACTION, service_ref(locked), message=f"The service {locked.label} was disabled.")


@transaction.atomic
def enable(actor: Actor, service: Service) -> None:
    """Begin the checks again, the first at once. Nothing happens where it is enabled."""
    locked = _lock_row(service)
    if locked.status != Service.Status.DISABLED:
        return
    _restart(locked)
    record_event(actor, ACTION, service_ref(locked), message=f"The service {locked.label} was enabled.")


@transaction.atomic
def check_now(actor: Actor, service: Service) -> None:
    """Make the next check due at once, for staff.

    Raises `Invalid` where there is none to wait for: it is under way, or neither the service nor its account is
    watched.
    """
    locked = _lock_row(service)
    if locked.status == Service.Status.DISABLED:
        raise Invalid("It is disabled: enable it, and it is checked at once.")
    if not (locked.account.is_active and locked.account.managed):
        raise Invalid("Nothing of its account is checked: it is suspended, or managed is off.")
    if Service.objects.filter(pk=locked.pk, lease_until__gt=Now()).exists():  # on the clock that leases go by
        raise Invalid("It is being checked right now.")
    # one that is late stays where it is among those that wait
    locked.next_check_at = Least("next_check_at", Now())
    locked.save(update_fields=["next_check_at"])
    record_event(actor, ACTION, service_ref(locked), message=f"A check of {locked.label} was asked for.")


@transaction.atomic
def delete(actor: Actor, service: Service) -> None:
    """Delete a service with what was measured of it. Raises `Missing` where another request was first."""
    locked = _lock_row(service, to_delete=True)
    leave(locked, f"{locked.label} was deleted.")
    ref = service_ref(locked)
    locked.delete()
    record_event(actor, "managed_service_delete", ref)


def _lock_row(service: Service, *, to_delete: bool = False) -> Service:
    """The service, locked after its account. Raises `Missing` where it is gone.

    Rows that name it, such as averages of its checks, are inserted meanwhile, unless it is locked `to_delete` it.
    """
    lock_account(service.account_id)
    return lock(Service.objects.filter(pk=service.pk), to_delete=to_delete)


def _restart(service: Service) -> None:
    """As if it were new: pending, due at once, and a check that is under way counts for nothing."""
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


def _checked(actor: Actor, before: dict[str, Any], spec: ServiceSpec) -> dict[str, Any]:
    """The values with the address as it is kept. Raises `Invalid` with all fields that are wrong at once."""
    values, problems = dict(spec.values), Problems()
    if spec.credentials is not None and not _own(actor, spec.credentials):
        problems.add("credentials", "credentials is not valid")
    target = {"region_id": None, **before, **{name: values[name] for name in TARGET if name in values}}
    if target != {"region_id": None, **before}:
        _check_region(target["region_id"], problems)
        try:
            values["address"] = targets.normalised(target["service_type"], target["address"])
            parsed = targets.parse(target["service_type"], target["address"])
            _check_target(parsed, target["region_id"] is not None, problems)
        except Invalid as error:
            for problem in error.problems:
                problems.add(problem.field, problem.reason)
    problems.raise_any()
    return values


def _check_region(region: str | None, problems: Problems) -> None:
    if region is not None and not Region.objects.filter(pk=region).exists():
        problems.add("region", "region is not valid")


def _own(actor: Actor, wanted: list[int]) -> bool:
    return Credential.objects.visible_to(actor).filter(pk__in=wanted).count() == len(set(wanted))


def _check_target(target: targets.Target, private: bool, problems: Problems) -> None:
    """Refuse what will never be checked. A name that stands for nothing yet is taken: it may, some day."""
    literal = target.literal
    try:
        addresses = [literal] if literal is not None else resolver.resolve(target.host)
    except resolver.Unresolved:
        return
    refusal = guard.refusal(addresses, private)
    if refusal is not None:
        problems.add("address" if refusal == guard.FORBIDDEN else "region", refusal)
