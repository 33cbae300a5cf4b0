"""Recording the instance that a volume is attached to, and the slots of its profiles that the volume is in.

A volume that is in a profile is always attached to the profile's instance. All functions run in the transaction of
the change that causes the record. The instance's row is locked before its volumes, and these in the order of their
keys.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.services.events import record_event, record_events
from accounts.services.grants import forget_entity
from compute.models import Config, ConfigDevice, Instance, Job, Volume, VolumeDevice
from compute.refs import instance_ref, volume_ref
from config import word
from config.db.statements import Param, Statement
from tags.services import untag

ATTACHED_ELSEWHERE = "The volume is already attached to another compute."
LEFT_BEHIND = word.sentence("The compute was booted without the volume, which no profile of the compute names.")


def attach_named(actor: Actor, instance: Instance, volume_ids: Iterable[int]) -> None:
    """Attach the volumes that are attached nowhere, since a profile of the locked instance names them now.

    A running machine is not changed: profiles are for the next boot.
    """
    free = Volume.objects.filter(pk__in=set(volume_ids), instance=None)
    for volume in free.order_by("pk").select_for_update(no_key=True):
        Volume.objects.filter(pk=volume.pk).update(instance=instance, updated=Now())
        record_event(actor, "volume_attach", volume_ref(volume), instance_ref(instance))


def free_slots(config: Config) -> list[str]:
    """Return the empty slots of the profile, in order."""
    taken = {
        *ConfigDevice.objects.filter(config=config).values_list("slot", flat=True),
        *VolumeDevice.objects.filter(config=config).values_list("slot", flat=True),
    }
    return [slot for slot in ConfigDevice.SLOTS if slot not in taken]


def fill_slots(config: Config, volume_ids: Iterable[int]) -> None:
    """Put volumes of the instance into free slots of its profile, as far as there are free slots."""
    VolumeDevice.objects.bulk_create(
        VolumeDevice(config=config, slot=slot, volume_id=pk)
        for slot, pk in zip(free_slots(config), volume_ids, strict=False)
    )


def volumes_in_profiles(instance: Instance) -> list[int]:
    """Return the keys of the volumes that any profile of the instance except a rescue's names, in order."""
    named = VolumeDevice.objects.filter(config__instance=instance, config__rescue=False)
    return sorted(set(named.values_list("volume_id", flat=True)))


def release(instance: Instance, volume_ids: Sequence[int]) -> None:
    """Detach these volumes from the instance, and remove them from its profiles."""
    VolumeDevice.objects.filter(config__instance=instance, volume__in=volume_ids).delete()
    Volume.objects.filter(pk__in=volume_ids, instance=instance).update(instance=None, updated=Now())


def take_out(volume: Volume) -> list[tuple[int, str]]:
    """Detach a locked volume, whose instance is locked too, and remove it from its profiles.

    Returns the profiles that it was in, each with the slot.
    """
    devices = VolumeDevice.objects.filter(volume=volume)
    places = list(devices.order_by("config", "slot").values_list("config_id", "slot"))
    devices.delete()
    volume.instance = None
    volume.save(update_fields=["instance", "updated"])
    return places


def put_back(instance: Instance, volume_id: int, places: Iterable[tuple[int, str]]) -> None:
    """Attach again a volume that `take_out` detached to the locked instance, wherever it is attached by now.

    It returns to those of its `places` that are still free.
    """
    volume = Volume.objects.filter(pk=volume_id).select_for_update(no_key=True).first()
    if volume is None:
        return
    VolumeDevice.objects.filter(volume=volume).exclude(config__instance=instance).delete()
    Volume.objects.filter(pk=volume_id).update(instance=instance, updated=Now())
    present = set(VolumeDevice.objects.filter(volume=volume).values_list("config_id", flat=True))
    wanted = {config_id: slot for config_id, slot in places if config_id not in present}
    for config in Config.objects.filter(instance=instance, pk__in=wanted):
        if wanted[config.pk] in free_slots(config):
            VolumeDevice.objects.create(config=config, slot=wanted[config.pk], volume=volume)


def loose(instance_id: int | Param) -> QuerySet[Volume]:
    """Return the volumes of the instance that no profile names except a rescue's: a boot may leave them behind.

    A volume that is being made is left out. It is attached when it is complete, whatever was booted meanwhile.
    """
    named = VolumeDevice.objects.filter(volume=OuterRef("pk"), config__rescue=False)
    making = Job.objects.filter(volume=OuterRef("pk"), kind="volume_create", finished_at=None)
    return Volume.objects.filter(~Exists(named), ~Exists(making), instance=instance_id)


def find_loose(instance_id: int) -> list[int]:
    """Return the keys of the volumes that are `loose`. Almost every job of an instance calls this when it ends."""
    return [key for (key,) in _keys_of_loose().run({"instance": instance_id})]


@cache
def _keys_of_loose() -> Statement:
    return Statement.of(loose(Param("instance")).values_list("pk"))


def release_loose(instance: Instance, volume_ids: Sequence[int]) -> None:
    """Detach the volumes that are still `loose` from the locked instance, which runs without them."""
    rows = loose(instance.pk).filter(pk__in=volume_ids).order_by("pk")
    locked = list(rows.select_for_update(no_key=True))
    release(instance, [volume.pk for volume in locked])
    left = instance_ref(instance), LEFT_BEHIND
    record_events(
        Actor.platform(instance.account_id), "volume_detach", ((volume_ref(volume), *left) for volume in locked)
    )


def release_all(instance: Instance) -> None:
    """Detach all volumes of an instance that is being deleted, whose machine is gone."""
    locked = list(Volume.objects.filter(instance=instance).order_by("pk").select_for_update(no_key=True))
    release(instance, [volume.pk for volume in locked])
    gone = instance_ref(instance), "The compute was deleted."
    record_events(
        Actor.platform(instance.account_id), "volume_detach", ((volume_ref(volume), *gone) for volume in locked)
    )


def remove_volume(volume_id: int) -> None:
    """Delete a volume's row, with its places in profiles and the grants and tags on it."""
    # before its places, which the deletion takes along
    Volume.objects.filter(pk=volume_id).select_for_update().first()
    forget_entity("volume", volume_id)
    untag("volume", volume_id)
    Volume.objects.filter(pk=volume_id).delete()
