"""Rescue page: boots an instance from the platform's own system, with its disks attached."""

from typing import Any

from compute.models import Disk
from compute.pages.base import InstanceForm, InstanceFormPage
from compute.pages.choices import volumes_for
from compute.pages.device_fields import device_fields, disk_choice, renamed_devices
from compute.serializers.rescue import RescueRequest
from compute.services.instances.rescue import SLOTS, rescue
from config.pages.views import JobMessage


class RescueForm(InstanceForm):
    """A select for each slot. The first slots have the instance's disks."""

    body = RescueRequest

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        disks = list(self.instance.disks.exclude(status=Disk.Status.DELETING).order_by("pk"))
        rows, more = volumes_for(self.actor, self.instance)
        volumes = {volume.pk: volume.label for volume in rows}
        self.fields |= device_fields(SLOTS, disks, volumes, more)
        for slot, disk in zip(SLOTS, disks, strict=False):
            self.fields[f"devices.{slot}"].initial = disk_choice(disk.pk)

    def as_body(self) -> dict[str, Any]:
        return {"devices": {}, **super().as_body()}


class RescueView(InstanceFormPage):
    """``/home/instances/<id>/rescue``."""

    operations = frozenset({"compute_instances_rescue"})
    kind = "rescue"
    form_class = RescueForm
    heading = "Rescue {page.instance}"
    introduction = (
        "Boots the instance from the platform's own system, with these devices attached. The rescue ends with the "
        "next boot."
    )
    verb = "Boot into rescue"
    renamed = renamed_devices(SLOTS)

    def perform(self, form: RescueForm) -> str:
        rescue(self.actor, self.instance, form.given.get("devices"), form.given.problems)
        return JobMessage(f"{self.instance} is booting into rescue.")
