"""Cloning an instance: into a new one, or into an existing one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from django.db import IntegrityError, transaction
from django.db.models import Model
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.models import Account, Event
from accounts.services.account import lock_account
from accounts.services.grants import grant_creator
from accounts.services.quotas import limits_for
from compute.jobs.data import CloneData
from compute.jobs.queue import enqueue, enqueue_with_rows
from compute.models import Config, ConfigDevice, Disk, Instance, InstanceType, Job
from compute.refs import instance_ref
from compute.services.backups.content import PROFILE
from compute.services.backups.settings import NOT_OFFERED, is_offered, switch_on
from compute.services.common.disk_space import left
from compute.services.common.labels import NewLabel
from compute.services.common.locks import is_busy, lock_all, named_instance
from compute.services.common.regions import NO_SUCH_TYPE, capability_of, check_region
from compute.services.hosts.placement import place
from compute.services.networking import addresses
from compute.services.networking.addresses import slaac_in
from compute.services.networking.firewalls.delivery import first_filters
from compute.services.networking.firewalls.mail_ports import are_closed
from compute.services.networking.vlans import bring_vlans, check_vlans, record_vlan_changes, vlans_of
from compute.services.usage import recording
from config.db.inserts import draw_keys, insert_together
from config.db.unique import note_taken
from config.errors import Busy, Problems
from regions.models import Region
from tags.services import set_tags

MAX_CLONES = 5
"""The most clones of one instance that run at once."""
COPIED_COLUMNS = (
    "watchdog_enabled", "alert_cpu", "alert_io", "alert_network_in", "alert_network_out", "alert_transfer_quota",
)  # fmt: skip
"""The columns that a clone copies from its source."""

Owned = TypeVar("Owned", bound=Model)


@dataclass(frozen=True, slots=True)
class CloneSpec:
    """A client's request for a clone; None for fields that are not given.

    With `compute_id`, the clone goes into that instance of the account, else into a new one. `configs` None means
    all profiles except a rescue's. The disks in the profiles' slots are cloned too, and `disks` names further
    disks.
    """

    region: str | None = None
    type: str | None = None
    compute_id: int | None = None
    label: str | None = None
    group: str | None = None
    backups_enabled: bool | None = None
    disks: Sequence[int] | None = None
    configs: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The profiles and disks of the source to clone. `certain` is false if the request does not determine them."""

    configs: list[Config]
    disks: list[Disk]
    certain: bool

    @property
    def size(self) -> int:
        """The disks' size in MB."""
        return sum(disk.size for disk in self.disks)


@dataclass(frozen=True, slots=True)
class _Destination:
    """The type and the region of a clone that makes a new instance, found and checked."""

    type: InstanceType
    region: Region


@dataclass(frozen=True, slots=True)
class _Copies:
    """The rows of the copies, in the order of insertion, and the data of the job."""

    rows: list[Model]
    data: CloneData


def clone(actor: Actor, source: Instance, spec: CloneSpec, problems: Problems | None = None) -> Instance:
    """Copy disks and profiles of `source`, which is ``cloning`` until the last clone of it has ended.

    Returns the target, which is ``provisioning``. Volumes in the profiles' slots stay where they are. Everything is
    written, or nothing.

    Raises `Invalid` with every failing field (``disks[0]``), and without a field if five clones of the source run
    already, or if the account's quotas do not allow the new instance. Raises `Denied` on ``compute_id`` if the
    actor may only read that instance, and `Busy` if another job has the source or the target.
    """
    label = NewLabel(Instance, actor.account_id, spec.label)
    while True:
        try:
            return _clone(actor, source, spec, problems, label)
        except IntegrityError as error:
            label.retry_after(error)


@transaction.atomic
def _clone(actor: Actor, source: Instance, spec: CloneSpec, problems: Problems | None, label: NewLabel) -> Instance:
    account = lock_account(actor.account_id)  # before the instances, for the VLANs that the profiles may bring
    problems = problems or Problems()
    source, target = _lock_row(source, _target(actor, source, spec, problems))
    chosen = _choose(source, spec, problems)
    destination = None
    if spec.compute_id is None and "compute_id" not in problems:
        destination = _check_new(source, spec, chosen, problems)
    elif target:
        _check_target(target, spec, chosen, problems)
    cloning = source.status == Instance.Status.CLONING
    if cloning and Job.objects.filter(source=source, state__in=Job.LIVE).count() >= MAX_CLONES:
        problems.add(None, f"At most {MAX_CLONES} clones of a compute run at once.")
    problems.raise_any()
    if not cloning and is_busy(source):
        raise Busy
    source_off = _source_off(source)
    Instance.objects.filter(pk=source.pk).update(status=Instance.Status.CLONING, updated=Now())
    if target:
        return _fill(actor, source, target, chosen, source_off)
    return _make(actor, account, source, spec, label, problems.checked(destination), chosen, source_off)


# --- the two rows -------------------------------------------------------------------------------------


def _target(actor: Actor, source: Instance, spec: CloneSpec, problems: Problems) -> Instance | None:
    """Return the instance to clone into, if the request names one that the actor may change."""
    if spec.compute_id is None:
        return None
    if spec.compute_id == source.pk:
        problems.add("compute_id", "compute_id is not valid")
        return None
    return named_instance(actor, spec.compute_id, "compute_id", problems)


def _lock_row(source: Instance, target: Instance | None) -> tuple[Instance, Instance | None]:
    """Lock both instances, in the order of their keys, and read them anew."""
    wanted = [source.pk] if target is None else [source.pk, target.pk]
    locked = lock_all(wanted)
    return locked[source.pk], locked[target.pk] if target else None


def _off(instance: Instance) -> str:
    """Return the status of a settled instance that is off after the job: `stopped` still waits for its host.

    A machine that was on went off by itself. Its instance stays `running` until the watchdog finds the reason.
    """
    kept = (Instance.Status.STOPPED, Instance.Status.RUNNING)
    return instance.status if instance.status in kept else Instance.Status.OFFLINE


def _source_off(source: Instance) -> str:
    """As `_off`, for the source. While the source is ``cloning``, the data of its running clones have the
    status."""
    if source.status != Instance.Status.CLONING:
        return _off(source)
    running = Job.objects.filter(source=source, state__in=Job.LIVE).order_by("pk").values_list("data", flat=True)
    return CloneData.from_json(running[0]).source_off_status


# --- what is asked for --------------------------------------------------------------------------------


def _choose(source: Instance, spec: CloneSpec, problems: Problems) -> _Chosen:
    """Return the profiles and disks that the request names, and the disks of those profiles."""
    configs = list(source.configs.order_by("pk").prefetch_related("devices"))
    if spec.configs is None:
        configs = [config for config in configs if not config.rescue]
    else:
        configs = _named(configs, spec.configs, "configs", problems)
    disks = list(source.disks.order_by("pk"))
    wanted = {device.disk_id for config in configs for device in config.devices.all()}
    wanted |= {disk.pk for disk in _named(disks, spec.disks or (), "disks", problems)}
    certain = "configs" not in problems and "disks" not in problems
    return _Chosen(configs, [disk for disk in disks if disk.pk in wanted], certain)


def _named(rows: list[Owned], ids: Sequence[int], field: str, problems: Problems) -> list[Owned]:
    """Return the rows with these ids, once each, in their own order; unknown ids are noted as ``field[0]``."""
    known = {row.pk for row in rows}
    for index, pk in enumerate(ids):
        if pk not in known:
            problems.add(f"{field}[{index}]", f"{field} is not valid")
    return [row for row in rows if row.pk in ids]


def _check_new(source: Instance, spec: CloneSpec, chosen: _Chosen, problems: Problems) -> _Destination | None:
    """Check the request for a clone that makes a new instance. Return None only with a problem."""
    plan, region = None if "type" in problems else _plan(source, spec), _region(source, spec)
    if plan is None:
        if "type" not in problems:
            problems.add("type", NO_SUCH_TYPE)
    elif chosen.certain and chosen.size > plan.disk:
        problems.add("type", f"The disks to clone need {chosen.size} MB, which this type does not have.")
    if "region" not in problems:
        check_region(region, capability_of(plan), problems)
        if region and chosen.certain:
            check_vlans(source.account_id, region, vlans_of(chosen.configs), "region", problems)
    if spec.backups_enabled and plan and not is_offered(plan):
        problems.add("backups_enabled", NOT_OFFERED)
    if spec.label:
        note_taken(Instance(account_id=source.account_id, label=spec.label), problems)
    return None if plan is None or region is None else _Destination(plan, region)


def _check_target(target: Instance, spec: CloneSpec, chosen: _Chosen, problems: Problems) -> None:
    """Check the request for a clone into an existing instance, which keeps its disks, profiles and settings."""
    for name, own in (("region", target.region_id), ("type", target.type_id)):
        if getattr(spec, name) not in (None, own):
            problems.add(name, f"The compute to clone into keeps its {name}.")
    for name in ("label", "group", "backups_enabled"):
        if getattr(spec, name) is not None:
            problems.add(name, f"{name} is only for a clone that makes a new compute.")
    if not chosen.certain:
        return
    there = left(target)
    if chosen.size > there and not is_busy(target):
        problems.add("compute_id", f"The disks to clone need {chosen.size} MB, and it has {there} MB left.")
    check_vlans(target.account_id, target.region, vlans_of(chosen.configs), "compute_id", problems)


def _plan(source: Instance, spec: CloneSpec) -> InstanceType | None:
    return source.type if spec.type is None else InstanceType.objects.filter(pk=spec.type).first()


def _region(source: Instance, spec: CloneSpec) -> Region | None:
    return source.region if spec.region is None else Region.objects.filter(pk=spec.region).first()


# --- writing ------------------------------------------------------------------------------------------


def _make(
    actor: Actor,
    account: Account,
    source: Instance,
    spec: CloneSpec,
    label: NewLabel,
    destination: _Destination,
    chosen: _Chosen,
    source_off: str,
) -> Instance:
    """Make the new instance with all its rows and the job that copies."""
    plan, region = destination.type, destination.region
    key, *event_and_job = draw_keys(Instance, Event, Job)
    target = Instance(id=key, account_id=source.account_id, region=region, type=plan, image_id=source.image_id)
    target.label = label.of(target.pk)
    target.group = source.group if spec.group is None else spec.group
    for name in COPIED_COLUMNS:
        setattr(target, name, getattr(source, name))
    target.ipv4 = [addresses.take(region.pk, target.pk, public=True)]
    target.ipv6 = slaac_in(region.pk, target.pk)
    if (account.backups_enabled or spec.backups_enabled) and is_offered(plan):
        switch_on(target)
    if source.tags and not actor.restricted:  # restricted users cannot add tags
        target.tags = set_tags(source.account_id, "compute", target.pk, source.tags)
    grant_creator(actor, "compute", target.pk)
    target.host = place(target, plan, region.pk, like=source.host_id)
    copies = _copies(target, chosen, source_off)
    enqueue_with_rows(
        "clone",
        target,
        actor,
        keys=(event_and_job[0], event_and_job[1]),
        rows=(target, *first_filters(target, mail_ports_closed=are_closed(account)), *copies.rows),
        data=copies.data,
        secrets={},
        secondary=instance_ref(target),
        source=source,
    )
    record_vlan_changes(actor, target, set(), vlans_of(chosen.configs))
    recording.begin(target, limits_for(account.pk))
    return target


def _fill(actor: Actor, source: Instance, target: Instance, chosen: _Chosen, source_off: str) -> Instance:
    """Add the rows to an existing instance, and enqueue the job that copies."""
    copies = _copies(target, chosen, source_off)
    data = replace(copies.data, off_status=_off(target))
    enqueue("clone_into", target, actor, data=data, secondary=instance_ref(target), source=source)
    record_vlan_changes(
        actor, target, vlans_of(target.configs.all()), vlans_of([*target.configs.all(), *chosen.configs])
    )
    if copies.rows:
        insert_together(*copies.rows)
    return target


def _copies(target: Instance, chosen: _Chosen, source_off: str) -> _Copies:
    """Return rows like the chosen ones, under new keys: disks, then profiles, then the devices in their slots.

    VLANs that the profiles name are created here if the target's region does not have them.
    """
    bring_vlans(target.account_id, target.region_id, vlans_of(chosen.configs))
    disk_of = dict(zip((disk.pk for disk in chosen.disks), _keys(Disk, len(chosen.disks)), strict=True))
    disks = [_like(disk, disk_of[disk.pk], target) for disk in chosen.disks]
    configs, devices = [], []
    for original, key in zip(chosen.configs, _keys(Config, len(chosen.configs)), strict=True):
        config = Config(pk=key, instance=target, **{name: getattr(original, name) for name in PROFILE})
        configs.append(config)
        devices += [(config, device.slot, disk_of[device.disk_id]) for device in original.devices.all()]
    slots = [
        ConfigDevice(pk=key, config=config, slot=slot, disk_id=disk)
        for key, (config, slot, disk) in zip(_keys(ConfigDevice, len(devices)), devices, strict=True)
    ]
    data = CloneData(
        copies={copy: original for original, copy in disk_of.items()},
        config_ids=[config.pk for config in configs],
        source_off_status=source_off,
    )
    return _Copies([*disks, *configs, *slots], data)


def _like(disk: Disk, key: int, target: Instance) -> Disk:
    """The row of a copy that is still to be made."""
    return Disk(
        pk=key,
        instance=target,
        label=disk.label,
        size=disk.size,
        filesystem=disk.filesystem,
        image_id=disk.image_id,
    )


def _keys(model: type[Model], count: int) -> Iterable[int]:
    return draw_keys(*[model] * count) if count else ()
