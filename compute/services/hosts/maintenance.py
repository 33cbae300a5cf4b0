"""Maintenance of hosts: instances on such a host are stopped, kept off, and booted again when it is over."""

import logging

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from accounts.actors import Actor
from compute.jobs.data import BootData
from compute.jobs.queue import enqueue
from compute.models import Host, Instance
from compute.refs import config_ref
from compute.services.common.boot_profile import boot_config
from config import word
from config.db.rows import lock
from config.errors import DomainError, Invalid, Problems

log = logging.getLogger(__name__)

Status = Instance.Status
MESSAGES = {
    "host_stop": word.sentence(
        "The compute's host is under maintenance. The compute is booted again when that is over."
    ),
    "boot": word.sentence("The compute was on before its host's maintenance or outage, and is booted again."),
}
"""The reason of each kind of job that the platform starts for a maintenance."""
MAX_AT_ONCE = 200
"""The most instances per kind of job that one run handles; the next run comes soon."""


def begin(host: Host) -> int:
    """Put a host into maintenance: it takes no new instances. Returns how many run there, for `keep_up` to stop.

    They are not stopped here, since hosts are locked after instances. Raises `Invalid` if it is in maintenance
    already.
    """
    if not Host.objects.filter(pk=host.pk, maintenance=None).update(maintenance=Now()):
        raise Invalid("The host is in maintenance already.")
    return Instance.objects.filter(host=host, status=Status.RUNNING).count()


def end(host: Host) -> int:
    """End the maintenance of a host. Returns how many instances were stopped there, for `keep_up` to boot.

    Raises `Invalid` if it is not in maintenance.
    """
    if not Host.objects.filter(pk=host.pk, maintenance__isnull=False).update(maintenance=None):
        raise Invalid("The host is not in maintenance.")
    return Instance.objects.filter(host=host, status=Status.STOPPED).count()


def keep_up() -> int:
    """Stop the instances that run on hosts in maintenance, boot those stopped on others; returns how many jobs.

    Runs every few seconds, and uses the present state. A busy instance waits its turn. An instance that was booted
    meanwhile is stopped like the others.
    """
    running = Instance.objects.filter(host__maintenance__isnull=False, status=Status.RUNNING)
    stopped = Instance.objects.filter(host__maintenance=None, status=Status.STOPPED)
    return _each("host_stop", running) + _each("boot", stopped)


def check_may_boot(instance: Instance) -> None:
    """Raise `Invalid` while the instance's host is in maintenance.

    A boot that begins just before the maintenance does no harm: `keep_up` stops the instance again.
    """
    problems = Problems()
    note_maintenance(instance, problems)
    problems.raise_any()


def note_maintenance(instance: Instance, problems: Problems) -> None:
    """As `check_may_boot`, but note the problem along with others."""
    if Host.objects.filter(pk=instance.host_id, maintenance__isnull=False).exists():
        problems.add(None, "The compute's host is under maintenance. Try again when that is over.")


def _each(kind: str, instances: QuerySet[Instance]) -> int:
    return sum(_try(kind, instance) for instance in instances.order_by("updated", "pk")[:MAX_AT_ONCE])


def _try(kind: str, instance: Instance) -> bool:
    """Enqueue the job unless the instance is busy, has another status by now, or has no profile to boot."""
    platform = Actor.platform(instance.account_id)
    try:
        with transaction.atomic():
            # a customer may have shut down a stopped instance after it was read; then it stays off
            lock(Instance.objects.filter(pk=instance.pk, status=instance.status))
            config = boot_config(instance) if kind == "boot" else None
            data = BootData(config_id=config.pk) if config else None
            enqueue(kind, instance, platform, data=data, secondary=config_ref(config), message=MESSAGES[kind])
    except DomainError as error:
        log.info("the %s of instance %s is tried again later: %s", kind, instance.pk, error)
        return False
    return True
