"""Repairing drift: by the platform itself where that is safe, and by staff with one verb for each kind.

Only `discard` deletes objects that could be a customer's content. Staff confirm this twice: first the object is set
aside, then it is deleted. No repair powers off a machine that a row knows.
"""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.services.events import record_event
from compute.jobs.data import HostObjectData, JobData
from compute.jobs.queue import enqueue, enqueue_alone
from compute.machine_names import machine_name
from compute.models import Drift, Host, Instance, Job
from compute.refs import instance_ref
from compute.services.common.boot_profile import boot_config
from compute.services.hosts.drift_records import REPEAT_SECONDS, close, compare_soon, confirmed
from compute.services.hosts.placement import RESOURCES, settle
from compute.services.networking.firewalls import delivery
from config import word
from config.db.rows import lock
from config.errors import Busy, Invalid

Kind = Drift.Kind
KINDS_TO_REPAIR = frozenset({Kind.WRONG_POWER, Kind.LEFTOVER, Kind.SHELL})
"""The kinds of drift that the platform repairs by itself."""
MAX_AT_ONCE = 100
"""The most repairs after one comparison of a host; the next comparison comes soon."""
FOUND_ON = word.sentence("The compute was found to be running.")
FOUND_ELSEWHERE = word.sentence("The compute was found on another host of its region.")
PLATFORM = Actor.platform(0)
"""The actor of jobs that belong to no account."""


# --- by itself ----------------------------------------------------------------------------------------------------


def repair_all(found: Iterable[Drift]) -> int:
    """Repair the confirmed drift of the kinds of `KINDS_TO_REPAIR`; returns the number of repairs done or begun.

    The platform tries each repair once. After that, staff see the drift and the job's error.
    """
    todo = [each for each in found if each.kind in KINDS_TO_REPAIR and confirmed(each) and each.job_id is None]
    return sum(_repair(each) for each in todo[:MAX_AT_ONCE])


@transaction.atomic
def _repair(drift: Drift) -> bool:
    if drift.kind == Kind.WRONG_POWER:
        return _record_running(drift)
    _enqueue("delete_host_object", drift, PLATFORM)
    return True


def _record_running(drift: Drift) -> bool:
    """Record that the instance is running, because its guest runs: a machine that a customer may be using
    stays on."""
    instance = drift.instance
    if instance is None:
        return False
    still = Instance.objects.filter(
        pk=instance.pk, host=drift.host_id, updated__lt=drift.first_seen,
        status__in=(Instance.Status.OFFLINE, Instance.Status.STOPPED),
    ).exclude(jobs__state__in=Job.LIVE)  # fmt: skip
    if not still.update(status=Instance.Status.RUNNING, updated=Now()):
        return False
    platform = Actor.platform(instance.account_id)
    record_event(platform, "compute_boot", instance_ref(instance), message=FOUND_ON)
    close(drift, "The database has the instance as running now.")
    return True


def _enqueue(kind: str, drift: Drift, actor: Actor) -> Job:
    """Enqueue a job of this kind on the object of the drift, and compare the host again soon."""
    machine = ""
    if drift.kind == Kind.UNKNOWN_DISK:
        machine = machine_name(drift.instance_id)
    data = HostObjectData(host_id=drift.host_id, kind=drift.kind, name=drift.name, machine=machine)
    job = enqueue_alone(kind, actor, None, data)
    Drift.objects.filter(pk=drift.pk).update(job=job)
    compare_soon(drift.host_id, REPEAT_SECONDS)
    return job


# --- verbs of staff -----------------------------------------------------------------------------------------------

KINDS_TO_SET_ASIDE = frozenset({Kind.UNKNOWN_MACHINE, Kind.UNKNOWN_DISK, Kind.UNKNOWN_VOLUME, Kind.WRONG_HOST})
KINDS_TO_DELETE = frozenset({Kind.SET_ASIDE, Kind.LEFTOVER, Kind.SHELL})
KINDS_TO_DEFINE = frozenset({Kind.MISSING_MACHINE, Kind.WRONG_SIZE})


@transaction.atomic
def set_aside(actor: Actor, drift: Drift) -> Job:
    """Enqueue a job that sets an unknown object aside on its host, where it is kept and not used.

    An unknown machine is powered off first. For a machine on another host than its row's, raises `Invalid` unless
    the row's host answers and has the machine too.
    """
    _checked(drift, KINDS_TO_SET_ASIDE)
    if drift.kind == Kind.WRONG_HOST:
        instance = _instance(drift)
        if instance.host.unreachable_since is not None or _missing(instance).exists():
            raise Invalid(f"{instance.host} may not have the machine. This copy may be the only one.")
    return _enqueue("set_aside_host_object", drift, actor)


@transaction.atomic
def discard(actor: Actor, drift: Drift) -> Job:
    """Enqueue a job that deletes a leftover, or an object that was set aside, for good."""
    return _enqueue("delete_host_object", _checked(drift, KINDS_TO_DELETE), actor)


@transaction.atomic
def define_again(actor: Actor, drift: Drift) -> Job:
    """Enqueue a job that defines the machine of an instance by its row, and boots it if the row says that it
    runs."""
    _checked(drift, KINDS_TO_DEFINE)
    instance = _instance(drift)
    if instance.host_id != drift.host_id:
        raise Invalid("The compute is on another host now.")
    lost = drift.kind == Kind.MISSING_MACHINE and instance.status == Instance.Status.RUNNING
    # the watchdog handles a machine that goes off by itself meanwhile: it checks running instances
    off = Instance.Status.OFFLINE if lost else instance.status
    data = JobData(config_id=boot_config(instance).pk if lost else None, off_status=off)
    job = enqueue("redefine", instance, _on(instance, actor), data=data)
    Drift.objects.filter(pk=drift.pk).update(job=job)
    compare_soon(drift.host_id, REPEAT_SECONDS)
    return job


@transaction.atomic
def point_here(actor: Actor, drift: Drift) -> Host:
    """Change the row of the instance to the host where its machine was found.

    Raises `Invalid` while the row's present host may have the machine too, for a host of another region, and if the
    host has no capacity left. Raises `Busy` while a job works on the instance.
    """
    _checked(drift, frozenset({Kind.WRONG_HOST}))
    instance = lock(Instance.objects.filter(pk=_instance(drift).pk))
    both = Host.objects.filter(pk__in=(drift.host_id, instance.host_id)).order_by("pk")
    host = {each.pk: each for each in both.select_for_update(no_key=True)}[drift.host_id]
    if Job.objects.filter(instance=instance, finished_at=None).exists() or instance.status not in Instance.SETTLED:
        raise Busy
    if host.region_id != instance.region_id:
        raise Invalid("The host is in another region than the compute.")
    if not _missing(instance).filter(seen__gte=Drift.CONFIRMED).exists():
        raise Invalid(
            f"{instance.host} may also have the machine. No comparison has shown that it is missing there."
        )
    fits = all(
        getattr(host, f"{name}_used") + getattr(instance.type, name) <= getattr(host, name) for name in RESOURCES
    )
    if not fits:
        raise Invalid("The host has no room for this type.")
    left = instance.host_id
    Instance.objects.filter(pk=instance.pk).update(host=host, updated=Now())
    settle(instance, host, instance.type)
    delivery.changed([instance.pk])
    record_event(_on(instance, actor), "compute_migrate", instance_ref(instance), message=FOUND_ELSEWHERE)
    close(drift, f"The database has the host {host} now.")
    for host_id in (left, host.pk):
        compare_soon(host_id)
    return host


def compare_again(drift: Drift) -> None:
    """Schedule a comparison of the host now, for example after staff repaired it by hand."""
    compare_soon(drift.host_id)


def _checked(drift: Drift, kinds: frozenset[Kind]) -> Drift:
    """Lock the row and return it. Raises `Invalid` if it is over, not confirmed or of other kinds, and `Busy` while
    a job of it is live."""
    locked = Drift.objects.select_for_update(no_key=True).get(pk=drift.pk)
    if locked.resolved_at is not None:
        raise Invalid("This difference has ended.")
    if locked.kind not in kinds:
        raise Invalid("This does not apply to a difference of this kind.")
    if not confirmed(locked):
        raise Invalid("Only one comparison found this so far. The next one may not find it.")
    if locked.job is not None and locked.job.finished_at is None:
        raise Busy
    return locked


def _missing(instance: Instance) -> QuerySet[Drift]:
    """Return the open drift that the instance's host lacks its machine."""
    missing = Drift.objects.filter(instance=instance, kind=Kind.MISSING_MACHINE, host=instance.host_id)
    return missing.filter(resolved_at=None)


def _on(instance: Instance, actor: Actor) -> Actor:
    """Return the same staff user as an actor on the instance's account."""
    return Actor(account_id=instance.account_id, username=actor.username, is_staff=True)


def _instance(drift: Drift) -> Instance:
    if drift.instance is None:
        raise Invalid("The compute was deleted.")
    return drift.instance
