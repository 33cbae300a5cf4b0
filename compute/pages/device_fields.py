"""Devices on forms: for each slot of a profile or of a rescue, a select of disks and volumes."""

from collections.abc import Iterable, Mapping
from typing import Any

from compute.models import Disk
from config.display.integers import is_id
from config.pages.forms import ChoiceField

DEVICE_KEYS = ("disk_id", "volume_id")


class DeviceField(ChoiceField):
    """A disk or a volume, as the API's object: the choice ``disk_id:7`` is ``{"disk_id": 7}``.

    Other texts are passed on, so that the serializer gives its reason.
    """

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        key, _, pk = str(text).partition(":")
        return {key: int(pk)} if key in DEVICE_KEYS and is_id(pk) else text


def device_fields(
    slots: Iterable[str], disks: Iterable[Disk], volumes: Mapping[int, str], more: str = ""
) -> dict[str, DeviceField]:
    """The fields of the slots, by name. `volumes` has the names of the volumes that can be chosen, by id.

    The first field has the help text `more`, which says that there are further volumes.
    """
    choices: list[Any] = [("", "empty")]
    named = [(disk_choice(disk.pk), f"{disk.label} ({disk.filesystem})") for disk in disks]
    if named:
        choices.append(("Disks", named))
    if volumes:
        choices.append(("Volumes", [(volume_choice(pk), label) for pk, label in volumes.items()]))
    fields = {f"devices.{slot}": DeviceField(label=f"/dev/{slot}", choices=choices) for slot in slots}
    next(iter(fields.values())).help_text = more
    return fields


def disk_choice(pk: int) -> str:
    """The choice of a `DeviceField` for a disk."""
    return f"disk_id:{pk}"


def volume_choice(pk: int) -> str:
    """The choice of a `DeviceField` for a volume."""
    return f"volume_id:{pk}"


def renamed_devices(slots: Iterable[str]) -> dict[str, str]:
    """Return the names of the fields, by the field names that the service uses in problems."""
    return {f"devices.{slot}.{key}": f"devices.{slot}" for slot in slots for key in DEVICE_KEYS}
