"""How events name the entities of this app."""

from accounts.services.events import EntityRef
from compute.models import Backup, Config, Disk, Image, Instance, StackScript


def instance_ref(instance: Instance) -> EntityRef:
    return EntityRef("compute", instance.pk, instance.label, f"/v4/compute/instances/{instance.pk}")


def config_ref(config: Config | None) -> EntityRef | None:
    if config is None:
        return None
    url = f"/v4/compute/instances/{config.instance_id}/configs/{config.pk}"
    return EntityRef("compute_config", config.pk, config.label, url)


def disk_ref(disk: Disk) -> EntityRef:
    return EntityRef("disks", disk.pk, disk.label, f"/v4/compute/instances/{disk.instance_id}/disks/{disk.pk}")


def image_ref(image: Image | None) -> EntityRef | None:
    if image is None:
        return None
    return EntityRef("image", image.pk, image.label, f"/v4/images/{image.pk}")


def own_image_ref(image: Image) -> EntityRef:
    """An account's own image as what an event is about: events, like grants, name it by its number."""
    assert image.number is not None  # noqa: S101 - only official images have none
    return EntityRef("image", image.number, image.label, f"/v4/images/{image.pk}")


def backup_ref(backup: Backup) -> EntityRef:
    url = f"/v4/compute/instances/{backup.instance_id}/backups/{backup.pk}"
    return EntityRef("backups", backup.pk, str(backup), url)


def script_ref(script: StackScript) -> EntityRef:
    return EntityRef("stackscript", script.pk, script.label, f"/v4/compute/stackscripts/{script.pk}")


def address_ref(address: str) -> EntityRef:
    """An address, or a range of them with its prefix length."""
    path = "ipv6/ranges" if "/" in address else "ips"
    return EntityRef("ipaddress", address, address, f"/v4/networking/{path}/{address}")
