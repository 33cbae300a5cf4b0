"""Booting, rebooting and shutting down instances."""

from django.db import transaction

from accounts.actors import Actor
from accounts.services.events import record_finished
from compute.jobs.data import BootData
from compute.jobs.definition import KINDS
from compute.jobs.queue import enqueue
from compute.models import Config, Instance, Job
from compute.refs import config_ref, instance_ref
from compute.services.common.boot_profile import boot_config
from compute.services.common.locks import check_idle, lock_any
from compute.services.hosts.maintenance import note_maintenance
from config.db.rows import write
from config.errors import Busy, Invalid, Problems

Status = Instance.Status


@transaction.atomic
def boot(
    actor: Actor, instance: Instance, config_id: int | None = None, problems: Problems | None = None
) -> Job | None:
    """Power on an instance with the profile that `boot_config` picks.

    If the instance already runs, `config_id` has no effect, the event is finished at once, and the function returns
    None.
    """
    problems = problems or Problems()
    locked = lock_any(instance)  # so that the profile is not deleted meanwhile
    if locked.status != Status.RUNNING:
        return _start(actor, "boot", locked, config_id, problems)
    problems.raise_any()
    _already(actor, "boot", locked, locked.booted_config)
    return None


@transaction.atomic
def reboot(actor: Actor, instance: Instance, config_id: int | None = None, problems: Problems | None = None) -> Job:
    """Shut an instance down, if it is on, and boot it with the profile that `boot_config` picks."""
    return _start(actor, "reboot", lock_any(instance), config_id, problems or Problems())


@transaction.atomic
def shutdown(actor: Actor, instance: Instance) -> Job | None:
    """Power off an instance.

    If the instance is already off, the event is finished at once and the function returns None. An instance that
    its host's maintenance ``stopped`` becomes ``offline``, and is not booted after the maintenance.
    """
    locked = lock_any(instance)
    if locked.status not in (Status.OFFLINE, Status.STOPPED):
        return enqueue("shutdown", locked, actor)
    _already(actor, "shutdown", locked)
    if locked.status == Status.STOPPED:
        write(locked, {"status": Status.OFFLINE}, "updated")
    return None


def _already(actor: Actor, kind: str, locked: Instance, config: Config | None = None) -> None:
    """Record the finished event of a job of this kind that is not needed. Raises `Busy` while a job is live."""
    check_idle(locked)
    record_finished(actor, KINDS[kind].event, instance_ref(locked), config_ref(config))


def _start(actor: Actor, kind: str, locked: Instance, config_id: int | None, problems: Problems) -> Job:
    config = None if "config_id" in problems else _profile(locked, config_id, problems)
    if locked.status in Instance.SETTLED:
        note_maintenance(locked, problems)
    problems.raise_any()
    if config is None:
        raise Busy
    # if the reboot fails, an instance that was off gets this status back
    off_status = locked.status if kind == "reboot" and locked.status in (Status.OFFLINE, Status.STOPPED) else None
    data = BootData(config_id=config.pk, off_status=off_status)
    return enqueue(kind, locked, actor, data=data, secondary=config_ref(config))


def _profile(instance: Instance, config_id: int | None, problems: Problems) -> Config | None:
    """Return the profile to boot. None with a problem, or without one if the job of a busy instance may add a
    profile."""
    try:
        return boot_config(instance, config_id)
    except Invalid as refused:
        if config_id is not None or instance.status in Instance.SETTLED:
            problems.note(refused)
        return None
