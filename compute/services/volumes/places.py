"""The place of a volume: an instance, and the profile whose slot it goes into."""

from dataclasses import dataclass

from accounts.actors import Actor
from compute.models import Config, ConfigDevice, Instance, Job, Volume
from compute.services.common.boot_profile import boot_config
from compute.services.common.locks import lock_any, named_instance
from compute.services.volumes import attachments
from config.errors import Busy, Invalid, Missing, Problems

SLOTS = len(ConfigDevice.SLOTS)
MAX_DEVICES = 64
MB_FOR_DEVICE = 1024
"""The MB of memory for each device of a running instance, beyond the slots of a profile."""
POWERED_OFF = (Instance.Status.OFFLINE, Instance.Status.STOPPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place to attach a volume: an instance and, to stay attached, one of its profiles.

    `config_id` None is the profile that boots next. Without `persist_across_boots`, the volume is in no profile. A
    request without a `compute_id` is refused, because the id failed a check before.
    """

    compute_id: int | None = None
    config_id: int | None = None
    persist_across_boots: bool = True


def find_instance(actor: Actor, place: Place, problems: Problems) -> Instance | None:
    """Lock and return the instance of the place; None, with a problem noted, if it does not exist for the actor.

    Raises `Denied` if the actor may only read it.
    """
    if place.compute_id is None:
        return None
    named = named_instance(actor, place.compute_id, "compute_id", problems)
    try:
        return lock_any(named) if named else None
    except Missing:  # the instance was deleted just now
        problems.add("compute_id", "compute_id is not valid")
        return None


def check_stays(locked: Instance) -> None:
    """Raise `Busy` if the locked instance is being deleted, or is moving to another region than its volumes."""
    moving = Job.objects.filter(instance=locked, state__in=Job.LIVE, kind="migrate_region")
    if locked.status == Instance.Status.DELETING or moving.exists():
        raise Busy


def choose_profile(instance: Instance, place: Place, problems: Problems) -> Config | None:
    """Return the profile of the locked instance that the volume goes into; None for none, or if there are problems.

    A profile has eight slots. The devices in the profile and the other attached volumes are together at most
    `most_devices`. Unless the instance is off, the same limit applies to the profile that it has booted, and to a
    profile that it is about to boot.
    """
    config = None
    if place.persist_across_boots:
        config = _choose(instance, place.config_id, problems)
    elif place.config_id is not None:
        problems.add("config_id", "config_id is for a volume that persists across boots.")
    elif instance.status in POWERED_OFF:
        problems.add("persist_across_boots", "The compute is off, so persist_across_boots must be true.")
    profiles = {config, *_about_to_boot(instance)}
    if instance.status not in POWERED_OFF:
        profiles.add(instance.booted_config)
    # a volume that is being detached counts: the machine has it until the job is done, and again if the job fails
    leaving = Job.objects.filter(instance=instance, state__in=Job.LIVE, kind="volume_detach").count()
    most = most_devices(instance)
    if leaving + max(_devices(instance, each) for each in profiles) >= most:
        problems.add("compute_id", f"The compute has {most} devices, which is as many as it can have.")
    elif config and not attachments.free_slots(config):
        problems.add("config_id", f"The profile has {SLOTS} devices, which is as many as a profile can have.")
    return config


def most_devices(instance: Instance) -> int:
    """Return the most disks and volumes of an instance of this type: one for each GB of memory, but 8 to 64."""
    return min(max(instance.type.memory // MB_FOR_DEVICE, SLOTS), MAX_DEVICES)


def _choose(instance: Instance, config_id: int | None, problems: Problems) -> Config | None:
    """Return the named profile, else the one that boots next; None if the instance has no profile."""
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


def _about_to_boot(instance: Instance) -> list[Config]:
    """Return the profile that the live job of the instance boots, if any."""
    jobs = Job.objects.filter(instance=instance, state__in=Job.LIVE)
    named = [pk for pk in jobs.values_list("data__config", flat=True) if pk is not None]
    return list(Config.objects.filter(instance=instance, pk__in=named)) if named else []


def _devices(instance: Instance, config: Config | None) -> int:
    """Return the number of devices that the instance has with this profile: in its slots, and other attached
    volumes."""
    attached = Volume.objects.filter(instance=instance)
    if config is None:
        return attached.count()
    taken = SLOTS - len(attachments.free_slots(config))
    return taken + attached.exclude(devices__config=config).count()
