"""Rescue page: boots an instance from the platform's own system, with its disks attached."""

import re
from typing import Any

from compute.models import Disk, Volume
from compute.pages.base import FormPage
from compute.pages.choices import volumes_for
from compute.serializers.rescue import RescueRequest
from compute.services.instances.rescue import SLOTS, rescue
from config.pages.forms import BodyForm, ChoiceField

DEVICE = re.compile(r"(disk|volume)-([0-9]{1,18})").fullmatch


class RescueForm(BodyForm):
    """A select for each slot. Its values are like ``disk-7`` and ``volume-3``, and empty for nothing."""

    body = RescueRequest

    def __init__(self, *args: Any, devices: Any, disks: list[Disk], **kwargs: Any):
        super().__init__(*args, **kwargs)
        for number, slot in enumerate(SLOTS):
            first = f"disk-{disks[number].pk}" if number < len(disks) else ""
            self.fields[f"devices.{slot}"] = ChoiceField(label=f"/dev/{slot}", choices=devices, initial=first)

    def as_body(self) -> dict[str, Any]:
        slots = {name.removeprefix("devices."): device_of(value) for name, value in self.cleaned_data.items()}
        return {"devices": slots}


def device_of(value: str) -> dict[str, int] | None:
    found = DEVICE(value)
    return {f"{found[1]}_id": int(found[2])} if found else None


class RescueView(FormPage):
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
    renamed = {f"devices.{slot}.{kind}_id": f"devices.{slot}" for slot in SLOTS for kind in ("disk", "volume")}

    def get_form_kwargs(self) -> dict[str, Any]:
        disks = list(self.instance.disks.exclude(status=Disk.Status.DELETING).order_by("pk"))
        volumes = volumes_for(self.actor, self.instance)
        return {**super().get_form_kwargs(), "disks": disks, "devices": choices_of(disks, volumes)}

    def perform(self, form: RescueForm) -> str:
        rescue(self.actor, self.instance, form.given.get("devices"), form.given.problems)
        return f"{self.instance} is booting into rescue."


def choices_of(disks: list[Disk], volumes: list[Volume]) -> list[Any]:
    found: list[Any] = [("", "empty")]
    if disks:
        found.append(("Disks", [(f"disk-{disk.pk}", f"{disk.label} ({disk.filesystem})") for disk in disks]))
    if volumes:
        found.append(("Volumes", [(f"volume-{volume.pk}", volume.label) for volume in volumes]))
    return found
