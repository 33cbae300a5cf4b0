"""Boot, reboot, shut down."""

from django.db import transaction

from accounts.actors import Actor
from compute.jobs.data import BootData
from compute.jobs.queue import enqueue, note_refusal
from compute.models import Config, Instance, Job
from compute.refs import config_ref
from compute.services.common.boot_profile import boot_config
from compute.services.common.locks import lock_any
from compute.services.hosts.maintenance import note_maintenance
from config.errors import Busy, Invalid, Problems


def boot(actor: Actor, instance: Instance, config_id: int | None = None, problems: Problems | None = None) -> Job:
    """Power on an instance that is off, with the profile that `boot_config` picks."""
    return _start(actor, "boot", instance, config_id, problems or Problems())


def reboot(actor: Actor, instance: Instance, config_id: int | None = None, problems: Problems | None = None) -> Job:
    """Shut down a running instance and boot it again, with the profile that `boot_config` picks."""
    return _start(actor, "reboot", instance, config_id, problems or Problems())


@transaction.atomic
def shutdown(actor: Actor, instance: Instance) -> Job:
    """Power off a running instance."""
    return enqueue("shutdown", instance, actor)


@transaction.atomic
def _start(actor: Actor, kind: str, instance: Instance, config_id: int | None, problems: Problems) -> Job:
    locked = lock_any(instance)  # so that the profile is not deleted meanwhile
    config = None if "config_id" in problems else _profile(locked, config_id, problems)
    if locked.status in Instance.SETTLED:
        note_refusal(kind, locked, problems)
        note_maintenance(locked, problems)
    problems.raise_any()
    if config is None:
        raise Busy
    return enqueue(kind, locked, actor, data=BootData(config_id=config.pk), secondary=config_ref(config))


def _profile(instance: Instance, config_id: int | None, problems: Problems) -> Config | None:
    """The profile to boot; None with a problem, or without one where the job of a busy instance may bring it."""
    try:
        return boot_config(instance, config_id)
    except Invalid as refused:
        if config_id is not None or instance.status in Instance.SETTLED:
            problems.note(refused)
        return None
