"""The storage of an instance: its disks, the space that is left, and the volumes attached to it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from compute.models import Disk, Volume
from compute.pages.parts import PartTab
from compute.serializers.volumes import filesystem_path
from compute.services.common.disk_space import taken
from compute.services.instances.disks import NOT_READY
from compute.services.volumes.changes import refusal_of_status
from config.pages.lists import Row, Verb


@dataclass(frozen=True, slots=True)
class VolumeRow:
    """An attached volume, and the verbs that the user may take."""

    volume: Volume
    verbs: tuple[Verb, ...]

    @property
    def path(self) -> str:
        return filesystem_path(self.volume.label)

    @property
    def copy_id(self) -> str:
        return f"path-{self.volume.pk}"


class StorageView(PartTab):
    """``/home/instances/<id>/storage``."""

    template_name = "compute/instance_part.html"
    part_template = "compute/storage.html"
    tab = "instance-storage"

    def shown(self, refusals: Mapping[str, str]) -> dict[str, Any]:
        used = taken(self.instance)
        disks = [Row(disk, self._verbs_of(disk, refusals)) for disk in self.instance.disks.order_by("pk")]
        volumes = self._volumes(refusals)
        return {
            "part_title": "Storage",
            "disks": disks,
            "used": used,
            "left": max(0, self.instance.type.disk - used),
            "volumes": volumes,
            "pending": any(row.volume.status != Volume.Status.ACTIVE for row in volumes),
            "may_create_volumes": self.actor.may("add_volumes"),
        }

    def values_of(self, shown: dict[str, Any]) -> Iterable[Any]:
        yield shown["used"]
        for row in shown["disks"]:
            yield row.object.pk, row.object.label, row.object.status, row.object.size, row.object.filesystem
        for row in shown["volumes"]:
            yield row.volume.pk, row.volume.label, row.volume.status, row.volume.size

    def _verbs_of(self, disk: Disk, refusals: Mapping[str, str]) -> tuple[Verb, ...]:
        deleting = disk.status == Disk.Status.DELETING
        unready = "" if disk.status == Disk.Status.READY else NOT_READY

        def verb(label: str, page: str, reason: str) -> Verb:
            return Verb(label, reverse(f"instance-disk-{page}", args=[self.instance.pk, disk.pk]), reason)

        image = (
            (verb("Create image", "image", NOT_READY if deleting else ""),) if self.actor.may("add_images") else ()
        )
        if not self.may_change:
            return image
        return (
            verb("Edit", "edit", ""),
            verb("Resize", "resize", refusals["disk_resize"] or unready),
            verb("Clone", "clone", refusals["disk_clone"] or unready),
            *image,
            verb("Set root password", "password", refusals["password_reset"] or unready),
            verb("Delete", "delete", refusals["disk_delete"]),
        )

    def _volumes(self, refusals: Mapping[str, str]) -> list[VolumeRow]:
        """The attached volumes that the user may see. The user can detach those that the user may change."""
        seen = list(Volume.objects.visible_to(self.actor).filter(instance=self.instance).order_by("pk"))
        keys = [volume.pk for volume in seen]
        writable = Volume.objects.writable_keys(self.actor, keys) if self.may_change else ()

        def verbs(volume: Volume) -> tuple[Verb, ...]:
            address = reverse("instance-volume-detach", args=[self.instance.pk, volume.pk])
            reason = refusals["volume_detach"] or refusal_of_status(volume, "detach")
            return (Verb("Detach", address, reason),) if volume.pk in writable else ()

        return [VolumeRow(volume, verbs(volume)) for volume in seen]
