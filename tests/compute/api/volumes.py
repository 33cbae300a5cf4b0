"""Helpers of the tests of volumes: paths, jobs, and attachments."""

from accounts.models import Event, Grant, User
from compute.machine_names import machine_name
from compute.models import Instance, Job, Volume, VolumeDevice
from tests.compute.run_jobs import work

VOLUMES = "/v4/volumes"
BUSY = {None: "Compute busy."}


def at(volume: Volume, verb: str = "") -> str:
    return f"{VOLUMES}/{volume.pk}{verb and '/'}{verb}"


def finish(driver) -> Job:
    """Run the live job to its end."""
    return work(Job.objects.get(finished_at=None), driver)


def slots(instance: Instance) -> dict[str, int]:
    """Return the volumes in the profiles of the instance."""
    return dict(VolumeDevice.objects.filter(config__instance=instance).values_list("slot", "volume"))


def plugged(driver, instance: Instance) -> set[str]:
    return set(driver.plugged(machine_name(instance.pk)))


def event_of(action: str) -> Event:
    return Event.objects.filter(action=action).latest("pk")


def grant(user: User, kind: str, pk: int, level: str = "read_write") -> None:
    Grant.objects.update_or_create(user=user, entity_type=kind, entity_id=pk, defaults={"permissions": level})
