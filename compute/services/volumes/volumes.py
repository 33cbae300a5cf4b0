"""Volumes: making, attaching, growing, cloning and deleting them. Sizes in GB.

A volume has one job at a time: while that lives, another job is refused as ``Volume busy.``
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from accounts.actors import Actor
from accounts.services.events import open_event, record_event
from accounts.services.grants import grant_creator
from compute.jobs.data import VolumeData, VolumeResizeData
from compute.jobs.queue import enqueue, enqueue_alone
from compute.models import Config, ConfigDevice, Instance, Job, Volume, VolumeDevice
from compute.refs import instance_ref, volume_ref
from compute.services.common.boot_profile import boot_config
from compute.services.common.locks import check_writable, lock_idle, named_instance
from compute.services.volumes import attachments
from config.db.inserts import draw_keys
from config.db.rows import differing, lock, write
from config.errors import Busy, Invalid, Missing, Problems
from regions.models import Region
from tags.services import check_tags, retag, set_tags

BLOCK_STORAGE = "Block Storage"
NVME = "Block Storage Migrations"
"""The capability of regions that have moved to NVMe, where volumes are made on that; elsewhere on hard disks."""
MOST_DEVICES = len(ConfigDevice.SLOTS)
NOT_ATTACHED = "The volume is not attached to a compute."
IN_USE = "The compute runs from this volume: shut it down first."


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place to attach a volume: an instance and, to stay attached, one of its profiles.

    `config_id` None is the profile that boots next. Without `persist_across_boots` the volume is in no profile.
    """

    compute_id: int
    config_id: int | None = None
    persist_across_boots: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeSpec:
    """A client's request for a volume: with a `compute_id` it is attached there, and in that instance's region."""

    label: str
    size: int = 20
    region: str | None = None
    compute_id: int | None = None
    config_id: int | None = None
    tags: tuple[str, ...] = ()

    @property
    def place(self) -> Place | None:
        return None if self.compute_id is None else Place(compute_id=self.compute_id, config_id=self.config_id)


# --- making -------------------------------------------------------------------------------------------


@transaction.atomic
def create(actor: Actor, spec: VolumeSpec) -> Volume:
    """Create a volume, which is `creating` until its job is done; with a `compute_id` it is attached there at once.

    Raises `Invalid` with every failing field, `Denied` on ``compute_id`` where the actor may only read the
    instance, `Busy` while a job of the instance lives.
    """
    problems = Problems()
    place = spec.place
    instance = _instance(actor, place.compute_id, problems) if place else None
    config = _profile(instance, place, problems) if instance and place else None
    if spec.config_id is not None and place is None:
        problems.add("config_id", "config_id is for a volume that is attached: compute_id is missing.")
    region = _region(spec, instance, problems)
    if spec.tags:
        check_tags(actor, spec.tags, problems)
    problems.raise_any()
    assert region is not None  # noqa: S101 - or else there were problems
    (key,) = draw_keys(Volume)
    volume = Volume(
        pk=key,
        account_id=actor.account_id,
        label=spec.label,
        size=spec.size,
        region=region,
        hardware_type=hardware_in(region),
        instance=instance,
        tags=set_tags(actor.account_id, "volume", key, spec.tags) if spec.tags else [],
    )
    volume.save(force_insert=True)
    grant_creator(actor, "volume", key)
    if config:
        attachments.fill_slots(config, [key])
    _begin("volume_create", actor, volume, instance, VolumeData(volume_id=key, attach=instance is not None))
    return volume


@transaction.atomic
def clone(actor: Actor, volume: Volume, label: str) -> Volume:
    """Copy a volume, byte for byte, into a new one of the same size and region, which is attached nowhere.

    The original may be in use: the copy is then as a power cut would have left it. Raises `Invalid` unless the
    original is active, and where its region is retired; `Busy` while a job of it lives.
    """
    locked = _lock_row(volume)
    _check_active(locked, "clone")
    if refusal := locked.region.refusal():
        raise Invalid(refusal)
    (key,) = draw_keys(Volume)
    copy = Volume(
        pk=key,
        account_id=locked.account_id,
        label=label,
        size=locked.size,
        region_id=locked.region_id,
        hardware_type=locked.hardware_type,
    )
    copy.save(force_insert=True)
    grant_creator(actor, "volume", key)
    event = open_event(
        username=actor.username,
        account_id=actor.account_id,
        action="volume_clone",
        entity=volume_ref(locked),
        secondary=volume_ref(copy),
    )
    enqueue_alone("volume_clone", actor, event, VolumeData(volume_id=key, copy_of=locked.pk), volume=copy)
    return copy


def hardware_in(region: Region) -> str:
    """The hardware that volumes of the region are made on."""
    return Volume.Hardware.NVME if NVME in region.capabilities else Volume.Hardware.HDD


# --- attaching ----------------------------------------------------------------------------------------


@transaction.atomic
def attach(actor: Actor, volume: Volume, place: Place) -> Volume:
    """Attach a volume to an instance of its region, running or not; its job plugs it into a machine that is on.

    The volume is shown as attached at once, and as detached again should the job fail. Raises as `create`, and
    `Invalid` where the volume is attached already.
    """
    problems = Problems()
    instance = _instance(actor, place.compute_id, problems)
    if instance is None:
        problems.raise_any()
        raise Missing
    locked = _lock_row(volume)
    if locked.instance_id is not None:
        which = "this" if locked.instance_id == instance.pk else "another"
        raise Invalid(f"The volume is attached to {which} compute already.")
    _check_active(locked, "attach")
    if instance.region_id != locked.region_id:
        problems.add("compute_id", "The compute is in another region than the volume.")
    config = _profile(instance, place, problems)
    problems.raise_any()
    locked.instance = instance
    locked.save(update_fields=["instance", "updated"])
    if config:
        attachments.fill_slots(config, [locked.pk])
    _begin("volume_attach", actor, locked, instance, VolumeData(volume_id=locked.pk))
    return locked


@transaction.atomic
def detach(actor: Actor, volume: Volume) -> Job:
    """Take a volume from its instance and out of its profiles; a machine that is on loses it while it runs.

    The volume is shown as attached until the job is done. Raises `Invalid` where it is not attached, or the
    instance runs from it; `Denied` if the actor may not change the instance; `Busy` while a job of either lives.
    """
    instance = Instance.objects.filter(volumes=volume.pk).first()
    if instance is None:
        raise Invalid(NOT_ATTACHED)
    check_writable(actor, instance)
    try:
        locked_instance = lock_idle(instance)
    except Missing:  # the instance was deleted just now, and the volume detached with that
        raise Invalid(NOT_ATTACHED) from None
    locked = _lock_row(volume)
    if locked.instance_id != locked_instance.pk:
        raise Invalid(NOT_ATTACHED)
    _check_active(locked, "detach")
    if locked_instance.status == Instance.Status.RUNNING and _is_root(locked_instance, locked):
        raise Invalid(IN_USE)
    return _begin("volume_detach", actor, locked, locked_instance, VolumeData(volume_id=locked.pk))


def _instance(actor: Actor, compute_id: int, problems: Problems) -> Instance | None:
    """The instance of this id, locked; None, with a problem noted, where it does not exist for the actor.

    Raises `Denied` where the actor may only read it, `Busy` while a job of it lives.
    """
    named = named_instance(actor, compute_id, "compute_id", problems)
    try:
        return lock_idle(named) if named else None
    except Missing:  # the instance was deleted just now
        problems.add("compute_id", "compute_id is not valid")
        return None


def _profile(instance: Instance, place: Place, problems: Problems) -> Config | None:
    """The profile of the locked instance that the volume goes into; None for none, or where there are problems.

    An instance has eight slots: the devices in the profile and the other attached volumes are at most eight. While
    the instance runs, that holds for the profile that it has booted as well.
    """
    config = None
    if place.persist_across_boots:
        config = _choose(instance, place.config_id, problems)
    elif place.config_id is not None:
        problems.add("config_id", "config_id is for a volume that persists across boots.")
    elif instance.status != Instance.Status.RUNNING:
        problems.add("persist_across_boots", "The compute is off: a volume can only be attached to stay.")
    profiles = {config}
    if instance.status == Instance.Status.RUNNING:
        profiles.add(instance.booted_config)
    if max(_devices(instance, each) for each in profiles) >= MOST_DEVICES:
        problems.add("compute_id", f"The compute has {MOST_DEVICES} devices, which is as many as it can have.")
    return config


def _devices(instance: Instance, config: Config | None) -> int:
    """The number of devices the instance has with this profile: those in its slots, and volumes attached beside."""
    attached = Volume.objects.filter(instance=instance)
    if config is None:
        return attached.count()
    taken = MOST_DEVICES - len(attachments.free_slots(config))
    return taken + attached.exclude(devices__config=config).count()


def _choose(instance: Instance, config_id: int | None, problems: Problems) -> Config | None:
    """The named profile, else the one that boots next; None where the instance has no profile."""
    own = Config.objects.filter(instance=instance, rescue=False)
    if config_id is None and not own.exists():
        return None
    if config_id is not None and not own.filter(pk=config_id).exists():
        problems.add("config_id", "config_id is not valid")
        return None
    try:
        return boot_config(instance, config_id)
    except Invalid as error:
        problems.add("config_id", str(error))
        return None


def _is_root(instance: Instance, volume: Volume) -> bool:
    """Whether the profile that the instance has booted has its root on the volume."""
    named = VolumeDevice.objects.filter(config=instance.booted_config_id, volume=volume).select_related("config")
    return any(device.config.root_device == f"/dev/{device.slot}" for device in named)


# --- changing and deleting ----------------------------------------------------------------------------


@transaction.atomic
def update(actor: Actor, volume: Volume, fields: Mapping[str, Any], tags: tuple[str, ...] | None = None) -> Volume:
    """Write the label and, unless None, the tags that differ, with one ``volume_update`` event if any do.

    Works whatever job runs. A guest finds the volume by a new label from its next boot on. Returns the volume as it
    is then; raises `Missing` when it is gone.
    """
    locked = _lock_row(volume)
    wanted = differing(locked, fields) | retag(actor, "volume", locked, tags)
    if wanted:
        write(locked, wanted, "updated")
        record_event(actor, "volume_update", volume_ref(locked))
    return locked


@transaction.atomic
def resize(actor: Actor, volume: Volume, size: int) -> Volume:
    """Enlarge a volume, attached or not; it shows the new size when the job is done.

    Raises `Invalid` on ``size`` where that is not larger, without a field unless the volume is active; `Busy` while
    a job of the volume, or of a clone of it, lives.
    """
    locked = _lock_row(volume)
    _check_active(locked, "resize")
    _check_not_copied(locked)
    if size <= locked.size:
        raise Invalid(f"Volumes can only be made larger: it has {locked.size} GB.", "size")
    locked.status = Volume.Status.RESIZING
    locked.save(update_fields=["status", "updated"])
    _begin("volume_resize", actor, locked, None, VolumeResizeData(volume_id=locked.pk, size=size))
    return locked


@transaction.atomic
def delete(actor: Actor, volume: Volume) -> None:
    """Delete a volume that is not attached: its row is gone at once, its data when the job is done.

    Raises `Invalid` where the volume is attached, `Busy` while a job of it, or of a clone of it, lives.
    """
    locked = _lock_row(volume)
    _check_active(locked, "delete")  # first: a volume that is being detached is shown as attached until then
    if locked.instance_id is not None:
        raise Invalid("The volume is attached to a compute: detach it first.")
    _check_not_copied(locked)
    event = open_event(
        username=actor.username, account_id=locked.account_id, action="volume_delete", entity=volume_ref(locked)
    )
    enqueue_alone("volume_delete", actor, event, VolumeData(volume_id=locked.pk))
    attachments.remove_volume(locked.pk)


# --- all of these -------------------------------------------------------------------------------------


def _lock_row(volume: Volume) -> Volume:
    """Lock the volume's row and read it anew, after the instance's row where that is locked as well."""
    return lock(Volume.objects.filter(pk=volume.pk).select_related("instance", "region"))


def _check_active(locked: Volume, verb: str) -> None:
    """Raise unless the locked volume is active and no job of it lives."""
    if locked.status != Volume.Status.ACTIVE:
        raise Invalid(f"Cannot {verb} a volume that is {locked.status}.")
    if Job.objects.filter(volume=locked, finished_at=None).exists():
        raise Busy("Volume busy.")


def _check_not_copied(locked: Volume) -> None:
    """Raise while a clone of the locked volume is being made: the original must stay, and keep its size."""
    copies = Job.objects.filter(kind="volume_clone", finished_at=None, data__copy_of=locked.pk)
    if copies.exists():
        raise Busy("Volume busy.")


def _begin(kind: str, actor: Actor, volume: Volume, instance: Instance | None, data: VolumeData) -> Job:
    """Enqueue a job of the volume: of the locked instance if there is one, else of no instance."""
    if instance is not None:
        secondary = instance_ref(instance)
        return enqueue(
            kind, instance, actor, data=data, volume=volume, about=volume_ref(volume), secondary=secondary
        )
    event = open_event(
        username=actor.username, account_id=volume.account_id, action=kind, entity=volume_ref(volume)
    )
    return enqueue_alone(kind, actor, event, data, volume=volume)


def _region(spec: VolumeSpec, instance: Instance | None, problems: Problems) -> Region | None:
    """The named region, or the instance's; a problem is noted where the two differ."""
    if spec.region is None:
        if spec.place is None:
            problems.add("region", "region is required")
        region = instance.region if instance else None
    else:
        region = Region.objects.filter(pk=spec.region).first()
        if region is None:
            problems.add("region", "region is not valid")
        elif instance and instance.region_id != region.pk:
            problems.add("region", "The compute is in another region.")
    if region and (refusal := region.refusal(BLOCK_STORAGE)):
        problems.add("region", refusal)
    return region
