"""Comparing the inventory of a host with the rows.

The inventory is taken first and the rows are read afterwards, so that objects made in between have their rows. An
instance with a live job, or whose row was written since, is left out: a later comparison covers it. A job may also
have ended between the two without a trace. So a finding counts only if two comparisons in a row had it.
"""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, F, Min, OuterRef, Q

from compute.drivers.base import FoundMachine, Inventory, Power
from compute.jobs.data import SIMULATED
from compute.machine_names import disk_name, instance_of, machine_name
from compute.models import Disk, Drift, Host, Instance, Job, Volume
from compute.models.volumes import volume_name, volume_of
from compute.services.hosts.drift_records import Finding

Kind = Drift.Kind
SHARED = "shared/"
"""The prefix of names of objects that every host of a region can reach."""
MAX_NAME_LENGTH = 255
LEFT_OVER = timedelta(minutes=10)
"""The time without a write after which a half-made object can be a leftover."""

Row = dict[str, Any]


def compare(host: Host, found: Inventory, asked: datetime) -> list[Finding]:
    """Return the differences between the rows and the inventory of a host, which was requested at `asked`."""
    there = {machine.name: machine for machine in found.machines}
    ids = {name: instance_of(name) for name in there}
    rows = _instances(host, [pk for pk in ids.values() if pk is not None])
    disks = _disks(rows)
    known = {machine.name: rows.get(ids[machine.name] or 0) for machine in found.machines}
    findings: list[Finding] = []
    for machine in found.machines:
        row = known[machine.name]
        if row is None:
            findings.append(Finding(Kind.UNKNOWN_MACHINE, machine.name, _described(machine)))
        elif _is_quiet(row, asked):
            findings += _of_machine(host, machine, row, disks.get(row["pk"], {}))
    for row in rows.values():
        name = machine_name(row["pk"])
        if row["host_id"] == host.pk and name not in there and _is_quiet(row, asked):
            findings.append(_missing(name, row, "The host has no part of the machine."))
    volumes = _has_volumes(host)
    findings += [
        each for each in _leftovers(found, rows, disks, asked) if volumes or not each.name.startswith(SHARED)
    ]
    if volumes and found.volumes is not None:
        findings += _volumes(host, found.volumes, asked)
    findings += [
        Finding(Kind.SET_ASIDE, name, "Kept until staff delete it.")
        for name in sorted(found.aside)
        if volumes or not name.startswith(SHARED)
    ]
    # one finding for each name: two machines may have disks of the same name
    return list({(each.kind, each.name): each for each in findings if len(each.name) <= MAX_NAME_LENGTH}.values())


def _instances(host: Host, found: list[int]) -> dict[int, Row]:
    """Return the instances of the host, and those whose machines were found there."""
    live = Job.objects.filter(finished_at=None)
    busy = Exists(live.filter(instance=OuterRef("pk"))) | Exists(live.filter(source=OuterRef("pk")))
    rows = Instance.objects.filter(Q(host=host) | Q(pk__in=found)).annotate(
        busy=busy, on=F("host__label"), memory=F("type__memory"), vcpus=F("type__vcpus")
    )
    fields = ("pk", "label", "status", "host_id", "updated", "busy", "on", "memory", "vcpus")
    return {row["pk"]: row for row in rows.values(*fields)}


def _disks(rows: Collection[int]) -> dict[int, dict[str, Row]]:
    """The rows of disks by their names, for each instance."""
    found: dict[int, dict[str, Row]] = {}
    for disk in Disk.objects.filter(instance__in=list(rows)).values("pk", "instance_id", "status", "label"):
        found.setdefault(disk["instance_id"], {})[disk_name(disk["instance_id"], disk["pk"])] = {**disk}
    return found


def _is_quiet(row: Row, asked: datetime) -> bool:
    """Tell whether no job is at work on an instance, and none was since the inventory was requested."""
    return not row["busy"] and row["status"] in Instance.SETTLED and row["updated"] < asked


def _described(machine: FoundMachine) -> str:
    power = {Power.ON: "on", Power.ABSENT: "not defined"}.get(machine.power, "off")
    disks = ", ".join(sorted(machine.disks)) or "none"
    return f"It is {power}. Disks: {disks}."


def _of_machine(host: Host, machine: FoundMachine, row: Row, disks: dict[str, Row]) -> Iterator[Finding]:
    """Yield the differences of an instance's machine that no job is working on."""
    if row["host_id"] != host.pk:
        is_shell = machine.arriving or not machine.disks
        kind = Kind.SHELL if machine.power != Power.ON and is_shell else Kind.WRONG_HOST
        text = f"The database has {row['label']} on {row['on']}. {_described(machine)}"
        yield Finding(kind, machine.name, text, row["pk"])
        return
    if machine.power == Power.ABSENT:
        yield _missing(machine.name, row, _described(machine))
        return
    if machine.power == Power.ON and row["status"] != Instance.Status.RUNNING:
        text = f"The machine is on, but {row['label']} is {row['status']} in the database."
        yield Finding(Kind.WRONG_POWER, machine.name, text, row["pk"])
    if (machine.memory, machine.vcpus) != (row["memory"], row["vcpus"]):
        has = f"has {machine.memory} MB and {machine.vcpus} cores"
        if machine.memory is None:
            has = "is on, but not defined any more"
        text = f"The machine of {row['label']} {has}. Its type has {row['memory']} MB and {row['vcpus']}."
        yield Finding(Kind.WRONG_SIZE, machine.name, text, row["pk"])
    for name in sorted(set(machine.disks) - disks.keys()):
        yield Finding(Kind.UNKNOWN_DISK, name, f"The database has no such disk of {row['label']}.", row["pk"])
    for name, disk in sorted(disks.items()):
        if disk["status"] == Disk.Status.READY and name not in machine.disks:
            text = f"The disk {disk['label']} of {row['label']} is not on the host."
            yield Finding(Kind.MISSING_DISK, name, text, row["pk"], disk_id=disk["pk"])


def _missing(name: str, row: Row, text: str) -> Finding:
    return Finding(Kind.MISSING_MACHINE, name, f"{row['label']} is {row['status']}. {text}", row["pk"])


def _leftovers(
    found: Inventory, rows: dict[int, Row], disks: dict[int, dict[str, Row]], asked: datetime
) -> Iterator[Finding]:
    """Yield half-made objects that no unfinished job can have begun: all such jobs began after the object's last
    write."""
    if not found.leftovers:
        return
    oldest = Job.objects.filter(finished_at=None).aggregate(first=Min("created"))["first"]
    complete = {machine.name: machine.disks for machine in found.machines}
    for left in found.leftovers:
        written = asked - timedelta(seconds=left.age)
        if timedelta(seconds=left.age) < LEFT_OVER or (oldest is not None and oldest - LEFT_OVER < written):
            continue
        pk = instance_of(left.machine)
        row = rows.get(pk or 0)
        if row is not None:
            disk = disks.get(row["pk"], {}).get(left.disk)
            lost = disk is not None and disk["status"] == Disk.Status.READY
            if not _is_quiet(row, asked) or (lost and left.disk not in complete.get(left.machine, ())):
                continue  # it is what there is of a customer's disk
        elif left.machine:
            continue  # of a machine that nobody knows: it goes or stays with that
        text = f"Incomplete, last written at {written:%Y-%m-%d %H:%M} UTC."
        yield Finding(Kind.LEFTOVER, left.name, text, None if row is None else row["pk"])


def _has_volumes(host: Host) -> bool:
    """Tell whether volumes are compared at this host. All hosts of a region see the same volumes, so one is
    enough."""
    hosts = Host.objects.filter(region=host.region_id, driver=host.driver, unreachable_since=None)
    hosts = hosts.exclude(~Q(driver=SIMULATED), shared="")
    return hosts.order_by("pk").values_list("pk", flat=True).first() == host.pk


def _volumes(host: Host, found: Collection[str], asked: datetime) -> Iterator[Finding]:
    keys = {name: volume_of(name) for name in found}
    live = Job.objects.filter(finished_at=None)
    rows = Volume.objects.filter(
        Q(region=host.region_id) | Q(pk__in=[pk for pk in keys.values() if pk is not None])
    ).annotate(busy=Exists(live.filter(volume=OuterRef("pk"))))
    known = {row["pk"]: row for row in rows.values("pk", "label", "status", "busy", "region_id", "updated")}
    # the row of a volume goes when its deletion is enqueued
    going = set(live.filter(kind="volume_delete").values_list("data__volume", flat=True))
    for name, pk in sorted(keys.items()):
        if pk not in known and pk not in going:
            yield Finding(Kind.UNKNOWN_VOLUME, name, "No volume has this name.")
    for pk, row in sorted(known.items()):
        name = volume_name(pk)
        quiet = row["status"] == Volume.Status.ACTIVE and not row["busy"] and row["updated"] < asked
        if row["region_id"] == host.region_id and name not in keys and quiet:
            yield Finding(Kind.MISSING_VOLUME, name, f"The volume {row['label']} is not there.", volume_id=pk)
