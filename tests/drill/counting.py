"""The final state after a drill: jobs, effects at the hypervisor, and differences between rows and hypervisor."""

import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psycopg
from django.db import OperationalError, connection

from accounts.models import Account, Event
from compute.drivers.simulated import SimulatedDriver
from compute.jobs.definition import KINDS
from compute.machine_names import disk_name, machine_name
from compute.models import Address, Backup, Host, Image, Instance, Job, UsageInterval, Volume
from compute.models.volumes import volume_name
from compute.services.usage.comparison import compare
from tests.drill.figures import Effect

SQL = Path(__file__).with_name("effects.sql")
TRUE_STATUS = {"on": ("running",), "off": ("offline", "stopped")}
BOOTS = ("boot", "start")


def watch(conninfo: str) -> None:
    """Make the database record the hypervisor's effects from now on."""
    with psycopg.connect(conninfo) as session:
        session.execute(SQL.read_text())


def settle(seconds: float) -> int:
    """Wait until no job is unfinished, for at most `seconds`. Returns the number of unfinished jobs."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            left = Job.objects.filter(finished_at=None).count()
        except OperationalError:  # the database restarted since the last query
            connection.close()
            left = -1
        if left == 0 or time.monotonic() > deadline:
            return left
        time.sleep(0.25)


def jobs() -> dict[str, int]:
    """Return the number of jobs in each state."""
    return dict(Counter(Job.objects.values_list("state", flat=True)))


def reasons(most: int = 5) -> list[tuple[str, int]]:
    """Return the most frequent errors of failed jobs, with their counts. Jobs that a deletion ended are
    included."""
    return Counter(Job.objects.filter(state="failed").values_list("error", flat=True)).most_common(most)


def events() -> Counter[tuple[str, int]]:
    """Return the number of events by action and entity."""
    rows = Event.objects.values_list("action", "entity_id")
    return Counter((action, entity) for action, entity in rows if entity is not None)


def effects(conninfo: str) -> list[Effect]:
    """Return all effects that the hypervisor began since `watch`, in order."""
    with psycopg.connect(conninfo) as session:
        return [
            Effect(*row)
            for row in session.execute("SELECT effect, name, job, kind, state FROM drill.effect ORDER BY id")
        ]


def stray(found: list[Effect]) -> list[Effect]:
    """Return changes of power without a live job, or with a job of a kind that never makes such a change.

    Such a change was made by a worker that had lost its job.
    """
    return [each for each in found if each.effect in ("start", "stop") and not _expected(each)]


def _expected(each: Effect) -> bool:
    if each.job is None:
        return False
    names = {step.name for step in KINDS[each.kind].steps}
    # the undo of a stop is a start
    return each.state == "undoing" or bool(names & {"stop"} if each.effect == "stop" else names & set(BOOTS))


def leaks(hypervisor: SimulatedDriver) -> list[str]:
    """Return differences between hypervisor and rows, and things in rows that nobody owns."""
    return [
        *_machines(hypervisor), *_kept(hypervisor), *_addresses(), *_capacity(),
        *(f"event {pk} is under way, and no job is"
          for pk in Event.objects.filter(status__in=["scheduled", "started"]).values_list("pk", flat=True)),
    ]  # fmt: skip


def usage() -> list[str]:
    """Return accounts whose counters or intervals differ from their resources, and hours that count twice."""
    found = {account.pk: compare(account.pk) for account in Account.objects.all()}
    wrong = [f"account {pk}: {difference}" for pk, difference in found.items() if difference]
    rows = UsageInterval.objects.order_by("kind", "resource", "started", "pk")
    for before, after in pairwise(rows):
        same = (before.kind, before.resource) == (after.kind, after.resource)
        if same and (before.ended is None or before.ended > after.started):
            wrong.append(f"{before} and {after} overlap")
    return wrong


def _machines(hypervisor: SimulatedDriver) -> Iterator[str]:
    instances = {
        machine_name(each.pk): each for each in Instance.objects.select_related("host").prefetch_related("disks")
    }
    there = hypervisor.all_machines()
    yield from (f"machine {name} of no instance" for name in there.keys() - instances.keys())
    for name, instance in instances.items():
        if name not in there:
            yield f"instance {instance.pk} without a machine"
            continue
        rows = {disk_name(instance.pk, disk.pk) for disk in instance.disks.all()}
        yield from (f"{disk}: at the hypervisor or in our rows alone" for disk in there[name] ^ rows)
        yield from (f"disk {disk.pk} is {disk.status}" for disk in instance.disks.all() if disk.status != "ready")
        power = hypervisor.power(name)
        if instance.status not in TRUE_STATUS[power]:
            yield f"instance {instance.pk} is {instance.status}, its machine {power}"
        for volume in hypervisor.plugged(name):
            if not Volume.objects.filter(instance=instance, pk=volume.removeprefix("skerry-volume-")).exists():
                yield f"{volume} is plugged into {name}, not attached"


def _kept(hypervisor: SimulatedDriver) -> Iterator[str]:
    volumes = {volume_name(each.pk): each.size for each in Volume.objects.all()}
    yield from (
        f"volume {name}: {size} GB at the hypervisor or in our rows alone"
        for name, size in hypervisor.volumes().items() ^ volumes.items()
    )
    numbers = Image.objects.filter(number__isnull=False, status="available").values_list("number", flat=True)
    disks = Backup.objects.filter(status="successful").values_list("disks", flat=True)
    archives = {f"skerry-image-{number}" for number in numbers} | {
        disk["archive"] for each in disks for disk in each if disk["archive"]
    }
    yield from (f"archive {name}: there or in our rows alone" for name in hypervisor.archives() ^ archives)


def _addresses() -> Iterator[str]:
    assigned = Counter(Address.objects.filter(instance__isnull=False).values_list("address", flat=True))
    shown = Counter(address for ipv4 in Instance.objects.values_list("ipv4", flat=True) for address in ipv4)
    for address in {str(each) for each in assigned} ^ {str(each) for each in shown}:
        yield f"address {address}: assigned or shown alone"
    yield from (f"address {address} is shown {count} times" for address, count in shown.items() if count > 1)


def _capacity() -> Iterator[str]:
    for host in Host.objects.prefetch_related("reservations"):
        for part in ("memory", "vcpus", "disk"):
            used, reserved = (
                getattr(host, f"{part}_used"),
                sum(getattr(each, part) for each in host.reservations.all()),
            )
            if used != reserved:
                yield f"host {host.label}: {used} of {part} are used, {reserved} reserved"
