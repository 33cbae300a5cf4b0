"""Volumes: creating, cloning, changing, enlarging and deleting them. Sizes are in GB.

One job at a time works on a volume. A request to attach or delete a busy volume is accepted, and its job waits its
turn. Other requests are refused as ``Compute busy.``, which clients know to retry.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from accounts.actors import Actor
from accounts.services.events import open_event, record_event
from accounts.services.grants import grant_creator
from compute.jobs.data import (
    VolumeCreateData,
    VolumeData,
    VolumeDeleteData,
    VolumeResizeData,
)
from compute.jobs.queue import enqueue_alone
from compute.models import Instance, Job, Volume
from compute.refs import instance_ref, volume_ref
from compute.services.common.locks import check_idle, check_writable, lock_present
from compute.services.usage.recording import record
from compute.services.volumes import attachments
from compute.services.volumes.changes import begin_alone, check_free, lock_row, note_unless_active
from compute.services.volumes.places import Place, check_stays, choose_profile, find_instance
from config.db.inserts import draw_keys
from config.db.rows import differing, write
from config.db.unique import note_taken
from config.errors import Busy, Invalid, Problems
from regions.models import Region
from tags.services import check_tags, differing_tags, set_tags

BLOCK_STORAGE = "Block Storage"
NVME = "Block Storage Migrations"
"""The capability of regions that have moved to NVMe, where new volumes are on NVMe. Elsewhere they are on hard
disks."""
MIN_SIZE, MAX_SIZE = 10, 10240
WRONG_SIZE = f"Must be {MIN_SIZE}-{MAX_SIZE}"
ATTACHED = "This volume must be detached before it can be deleted."


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeSpec:
    """A client's request for a volume. With a `compute_id`, it is attached there, and in that instance's region.

    A request without a label is refused, because the label failed a check before.
    """

    label: str | None
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
def create(actor: Actor, spec: VolumeSpec, problems: Problems | None = None) -> Volume:
    """Create a volume, which is `creating` until it is made; with a `compute_id` it is attached there at once.

    That instance may be busy. It then gets the volume when it boots, or when it is idle. Raises `Invalid` with
    every failing field, after those in `problems`, and without a field if the account's quotas do not allow the
    volume. Raises `Denied` on ``compute_id`` if the actor may only read the instance, and `Busy` if the instance is
    being deleted or moves to another region.
    """
    problems = problems or Problems()
    place = spec.place
    instance = find_instance(actor, place, problems) if place else None
    config = choose_profile(instance, place, problems) if instance and place else None
    if spec.config_id is not None and place is None and "compute_id" not in problems:
        problems.add("config_id", "config_id is for a volume that is attached: compute_id is missing.")
    region = _region(spec, instance, problems)
    if spec.tags:
        check_tags(actor, spec.tags, problems)
    (key,) = draw_keys(Volume)
    volume = Volume(pk=key, account_id=actor.account_id, label=spec.label or "", size=spec.size, instance=instance)
    note_taken(volume, problems)
    region = problems.checked(region)
    if instance:
        check_stays(instance)
    volume.region, volume.hardware_type = region, hardware_in(region)
    volume.tags = set_tags(actor.account_id, "volume", key, spec.tags) if spec.tags else []
    volume.save(force_insert=True)
    grant_creator(actor, "volume", key)
    if config:
        attachments.fill_slots(config, [key])
    data = VolumeCreateData(volume_id=key, region_id=region.pk, instance_id=instance.pk if instance else None)
    begin_alone("volume_create", actor, volume, data, instance_ref(instance) if instance else None)
    record(actor.account_id, volumes=[key])
    return volume


@transaction.atomic
def clone(actor: Actor, volume: Volume, label: str | None, problems: Problems | None = None) -> Volume:
    """Copy a volume, byte for byte, into a new one of the same size and region, which is attached nowhere.

    The original may be in use: the copy then has the content that a power cut would have left. Raises `Invalid`
    with every problem: the label, a volume that is not active, a region that is retired, and then the account's
    quotas. Raises `Busy` while a job of the volume is live.
    """
    problems = problems or Problems()
    locked = lock_row(volume)
    note_unless_active(locked, "clone", problems)
    if refusal := locked.region.refusal():
        problems.add(None, refusal)
    (key,) = draw_keys(Volume)
    copy = Volume(
        pk=key,
        account_id=locked.account_id,
        label=label or "",
        size=locked.size,
        region_id=locked.region_id,
        hardware_type=locked.hardware_type,
    )
    note_taken(copy, problems)
    problems.raise_any()
    check_free(locked)
    copy.save(force_insert=True)
    grant_creator(actor, "volume", key)
    event = open_event(
        username=actor.username,
        account_id=actor.account_id,
        action="volume_clone",
        entity=volume_ref(locked),
        secondary=volume_ref(copy),
    )
    enqueue_alone(
        "volume_clone",
        actor,
        event,
        VolumeData(volume_id=key, region_id=locked.region_id, copy_of=locked.pk),
        volume=copy,
    )
    record(locked.account_id, volumes=[key])
    return copy


def hardware_in(region: Region) -> str:
    """Return the hardware that volumes of the region are made on."""
    return Volume.Hardware.NVME if NVME in region.capabilities else Volume.Hardware.HDD


# --- changing and deleting ----------------------------------------------------------------------------


@transaction.atomic
def update(
    actor: Actor,
    volume: Volume,
    fields: Mapping[str, Any],
    tags: tuple[str, ...] | None = None,
    problems: Problems | None = None,
) -> Volume:
    """Write the label and, unless None, the tags that differ, with one ``volume_update`` event if any do.

    Works whatever job runs. A guest finds the volume by a new label from its next boot on. Returns the volume as it
    is then. Raises `Invalid` with every failing field, `Missing` if the volume is gone.
    """
    problems = problems or Problems()
    locked = lock_row(volume)
    wanted = differing(locked, fields)
    fresh = differing_tags(tags, locked.tags)
    if fresh is not None:
        check_tags(actor, fresh, problems)
    locked.label = wanted.get("label", locked.label)
    note_taken(locked, problems)
    problems.raise_any()
    if fresh is not None:
        wanted["tags"] = set_tags(locked.account_id, "volume", locked.pk, fresh)
    if wanted:
        write(locked, wanted, "updated")
        record_event(actor, "volume_update", volume_ref(locked))
    return locked


@transaction.atomic
def resize(actor: Actor, volume: Volume, size: int | None, problems: Problems | None = None) -> Volume:
    """Enlarge a volume, attached or not. It has the new size at once, and is `resizing` until the job is done.

    Raises `Invalid` on ``size`` if that is not larger, and without a field unless the volume is active and the
    account's quotas allow the size. Raises `Busy` while a job of the volume, or of a clone of it, is live.
    """
    problems = problems or Problems()
    locked = lock_row(volume)
    note_unless_active(locked, "resize", problems)
    if size is not None and size <= locked.size:
        problems.add("size", "Storage volumes can only be resized up")
    elif size is not None and size < MIN_SIZE:
        problems.add("size", WRONG_SIZE)
    size = problems.checked(size)
    check_free(locked)
    # a copy in progress keeps the size that the original had at its start
    if Job.objects.filter(kind="volume_clone", finished_at=None, data__copy_of=locked.pk).exists():
        raise Busy
    locked.status, locked.size = Volume.Status.RESIZING, size
    locked.save(update_fields=["status", "size", "updated"])
    begin_alone(
        "volume_resize", actor, locked, VolumeResizeData(volume_id=locked.pk, region_id=locked.region_id, size=size)
    )
    record(locked.account_id, volumes=[locked.pk])
    return locked


@transaction.atomic
def delete(actor: Actor, volume: Volume) -> None:
    """Delete a volume: its row is deleted at once, its data when the job is done, which waits for earlier jobs.

    A volume that is attached to an instance which is off is detached first. Raises `Invalid` if the instance is
    running, `Denied` if the actor may not change the instance, and `Busy` while a job of the instance is live.
    """
    # deleting the row changes its jobs, and their last settles change the row: lock the jobs first
    jobs = list(Job.objects.filter(volume=volume.pk).order_by("pk").select_for_update(no_key=True).values("pk"))
    instance = Instance.objects.filter(volumes=volume.pk).first()
    if instance is not None:
        check_writable(actor, instance)
        instance = lock_present([instance.pk]).get(instance.pk)
    locked = lock_row(volume)
    if locked.instance_id is not None:
        if instance is None or instance.pk != locked.instance_id:
            raise Busy  # it was attached just now
        _release(actor, locked, instance)
    if Job.objects.filter(volume=locked).count() > len(jobs):
        raise Busy  # another request has begun a job just now
    # a machine has the volume until its detachment is done, and keeps it if the detachment fails
    leaving = Job.objects.filter(kind="volume_detach", volume=locked, finished_at=None)
    data = VolumeDeleteData(
        volume_id=locked.pk,
        region_id=locked.region_id,
        instance_id=leaving.values_list("instance_id", flat=True).first(),
    )
    event = open_event(
        username=actor.username, account_id=locked.account_id, action="volume_delete", entity=volume_ref(locked)
    )
    enqueue_alone("volume_delete", actor, event, data)
    attachments.remove_volume(locked.pk)
    record(locked.account_id, check=False, volumes=[volume.pk])


def _release(actor: Actor, locked: Volume, instance: Instance) -> None:
    """Detach the locked volume from its locked instance, whose machine is off and so does not have it."""
    if instance.status == Instance.Status.RUNNING:
        raise Invalid(ATTACHED)
    check_idle(instance)
    attachments.take_out(locked)
    record_event(actor, "volume_detach", volume_ref(locked), instance_ref(instance))


def _region(spec: VolumeSpec, instance: Instance | None, problems: Problems) -> Region | None:
    """Return the named region, or the instance's; a problem is noted if the two differ."""
    if spec.region is None:
        if spec.place is None and "region" not in problems and "compute_id" not in problems:
            problems.add(None, "Must provide a region or a Compute ID")
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
