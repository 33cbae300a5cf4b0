"""Boot, reboot, shut down."""

from django.db import transaction

from accounts.actors import Actor
from compute.jobs.data import BootData
from compute.jobs.queue import enqueue
from compute.models import Instance, Job
from compute.refs import config_ref
from compute.services.common.boot_profile import boot_config
from compute.services.common.locks import lock_alive
from compute.services.hosts.maintenance import check_may_boot


def boot(actor: Actor, instance: Instance, config_id: int | None = None) -> Job:
    """Power on an instance that is off, with the profile that `boot_config` picks."""
    return _start(actor, "boot", instance, config_id)


def reboot(actor: Actor, instance: Instance, config_id: int | None = None) -> Job:
    """Shut down a running instance and boot it again, with the profile that `boot_config` picks."""
    return _start(actor, "reboot", instance, config_id)


@transaction.atomic
def shutdown(actor: Actor, instance: Instance) -> Job:
    """Power off a running instance."""
    return enqueue("shutdown", instance, actor)


@transaction.atomic
def _start(actor: Actor, kind: str, instance: Instance, config_id: int | None) -> Job:
    check_may_boot(instance)
    config = boot_config(lock_alive(instance.pk), config_id)  # locked, so that the profile is not deleted meanwhile
    return enqueue(kind, instance, actor, data=BootData(config_id=config.pk), secondary=config_ref(config))
