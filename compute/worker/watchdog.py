"""The watchdog: finds instances that powered themselves off, and boots those with an enabled watchdog."""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.services.events import record_event
from compute.drivers.base import Driver, DriverError, Ended, Unreachable
from compute.jobs import parking
from compute.jobs.data import BootData
from compute.jobs.queue import enqueue
from compute.machine_names import machine_name
from compute.models import Host, Instance, Job
from compute.refs import config_ref, instance_ref
from compute.services.common.boot_profile import boot_config
from compute.services.hosts import probes, reachability
from compute.services.hosts.maintenance import check_may_boot
from compute.worker.drivers import Drivers, address_of, configured
from config import word
from config.db.clock import database_now
from config.errors import Busy, DomainError
from config.processes.notify import notify

log = logging.getLogger(__name__)

MAX_BOOTS = 5
BOOTS_WINDOW = timedelta(minutes=15)
WHY_OFF = {
    Ended.GUEST: word.sentence("The compute powered itself off."),
    Ended.KILLED: word.sentence(
        "The compute's virtual machine ended unexpectedly: its process crashed or was killed."
    ),
    Ended.ASKED: word.sentence("The compute was shut down on its host."),
    None: word.sentence("The compute was found to be off."),
}
"""Sentences for the reasons for which a machine is off; `None` is an unknown reason."""
BOOTED_BY_WATCHDOG = "The watchdog boots it."
HOST_FELL = word.sentence("The compute's host restarted while the compute was on.")
BOOTED_AGAIN = f"{HOST_FELL} It is booted again."
BOOTED_LATER = f"{HOST_FELL} It is booted when the maintenance of its host is over."
LEFT_OFF = f"The watchdog does not boot it again: it was booted more than {MAX_BOOTS} times within 15 minutes."


def start_due() -> int:
    """Notify workers of each host that is due, and make the jobs due that wait for a host which answers.

    Returns how many hosts. Each host has a task of its own, so that a host that hangs delays no other.
    """
    parking.resume_all()
    found = probes.due()
    for host_id in found:
        notify(probes.TASK_NAME, host_id)
    return len(found)


def watch(host_id: int, drivers: Drivers = configured) -> int:
    """Probe a host that is due; returns the number of instances found off there that should be running.

    Only this function records that a host answers again. An error that the host itself returns is an answer.
    """
    claimed = probes.claim(host_id)
    if claimed is None:
        return 0
    host, lease = claimed
    try:
        return _watch(host, drivers)
    finally:
        probes.give_back(host_id, lease)


def _watch(host: Host, drivers: Drivers) -> int:
    asked_at = database_now()
    driver = drivers.at(address_of(host))
    try:
        off = driver.powered_off()
    except Unreachable as error:
        reachability.record_unreachable(str(host.uuid), str(error), asked_at)
        return 0
    except DriverError as error:
        log.warning("host %s could not report the machines that are off: %s", host, error)
        off = frozenset()
    if host.unreachable_since is not None and reachability.record_reachable(str(host.uuid), asked_at):
        parking.resume_all()
    return _restart_ended(host, driver, off, asked_at)


def _restart_ended(host: Host, driver: Driver, off: frozenset[str], asked_at: datetime) -> int:
    if not off:
        return 0
    running = Instance.objects.filter(host=host, status=Instance.Status.RUNNING, updated__lt=asked_at)
    fallen = [instance for instance in running.iterator() if machine_name(instance.pk) in off]
    if not fallen:
        return 0
    try:
        machines = driver.inventory().machines
    except DriverError as error:
        # the next probe comes soon, and can find out why they are off
        log.warning("host %s could not report why machines are off: %s", host, error)
        return 0
    why = {machine.name: machine.ended for machine in machines}
    return sum(_note(instance, asked_at, why.get(machine_name(instance.pk))) for instance in fallen)


def _note(instance: Instance, asked_at: datetime, why: Ended | None) -> bool:
    """Record that the instance is off. If its watchdog is on or it went off with its host, enqueue a boot.

    False if the driver's answer is out of date, or if a job took the instance in the same moment. The next round
    finds an instance that is still off.
    """
    try:
        with transaction.atomic():
            return _write_off(instance, asked_at, why)
    except Busy:
        return False


def _write_off(instance: Instance, asked_at: datetime, why: Ended | None) -> bool:
    # the driver's answer does not hold for an instance that a job touched since the driver was asked
    still = Instance.objects.filter(pk=instance.pk, status=Instance.Status.RUNNING, updated__lt=asked_at).exclude(
        jobs__state__in=Job.LIVE
    )
    if not still.update(status=Instance.Status.OFFLINE, updated=Now()):
        return False
    platform = Actor.platform(instance.account_id)
    if why is Ended.HOST:
        return _bring_back(instance, platform)
    reason = WHY_OFF[why]
    tired = instance.watchdog_enabled and _tired(instance)
    booted = f"{reason} {BOOTED_BY_WATCHDOG}"
    if instance.watchdog_enabled and not tired and _boot(instance, platform, "lassie_reboot", booted):
        return True
    message = f"{reason} {LEFT_OFF}" if tired else reason
    record_event(platform, "compute_shutdown", instance_ref(instance), message=message)
    return True


def _bring_back(instance: Instance, platform: Actor) -> bool:
    """Boot an instance that was on when its host restarted, even without a watchdog: nobody turned it off.

    On a host in maintenance, the instance waits for the end of the maintenance.
    """
    if Host.objects.filter(pk=instance.host_id, maintenance__isnull=False).exists():
        Instance.objects.filter(pk=instance.pk).update(status=Instance.Status.STOPPED)
        message = BOOTED_LATER
    elif _boot(instance, platform, "host_reboot", BOOTED_AGAIN):
        return True
    else:
        message = HOST_FELL
    record_event(platform, "compute_shutdown", instance_ref(instance), message=message)
    return True


def _tired(instance: Instance) -> bool:
    """Tell whether the instance had more than five boot jobs within fifteen minutes: another boot would not
    help."""
    boots = Job.objects.filter(instance=instance, kind="boot", created__gt=Now() - BOOTS_WINDOW)
    return boots.count() > MAX_BOOTS


def _boot(instance: Instance, platform: Actor, action: str, message: str) -> bool:
    try:
        check_may_boot(instance)
        config = boot_config(instance)
    except DomainError:
        return False  # nothing to boot from: its profiles were deleted while it ran, or its host is in maintenance
    enqueue(
        "boot", instance, platform,
        data=BootData(config_id=config.pk), secondary=config_ref(config), action=action, message=message,
    )  # fmt: skip
    return True
