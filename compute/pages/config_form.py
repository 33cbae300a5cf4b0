"""The form of a configuration profile."""

from collections.abc import Iterable
from typing import Any

from django import forms

from accounts.actors import Actor
from compute.models import Config, ConfigDevice, Disk, Kernel, Volume
from compute.pages.base import InstanceForm
from compute.pages.choices import volumes_for
from compute.pages.device_fields import device_fields, disk_choice, renamed_devices, volume_choice
from compute.serializers.configs import MAX_INTERFACES, ConfigRequest
from compute.services.common.regions import VLANS
from compute.services.networking.interfaces import NO_VLANS, PUBLIC, VLAN
from config import word
from config.errors import DomainError
from config.pages.forms import ChoiceField, FlagField, NumberField, SelectWithReasons, TextField

HELPERS = {
    "distro": "Adjust the system to the platform: console, file systems",
    "network": "Write the configuration of the network",
    "modules_dep": "Write the list of modules for the kernel",
    "devtmpfs_automount": "Mount /dev when the kernel starts",
    "updatedb_disabled": "Keep updatedb from running each night",
}
PURPOSES = (("", "none"), (PUBLIC, "public internet"), (VLAN, "VLAN"))
INTERFACE_FIELDS = ("purpose", "label", "ipam_address")


class ConfigForm(InstanceForm):
    """All fields of a profile. Empty rows of interfaces are left out."""

    body = ConfigRequest
    blank = frozenset({"label", "comments"})
    label = TextField(label="Label")
    comments = TextField(label="Comments", strip=False, widget=forms.Textarea(attrs={"rows": 2}))
    kernel = ChoiceField(label="Kernel")
    run_level = ChoiceField(
        label="Run level",
        choices=(("default", "default"), ("single", "single-user mode"), ("binbash", "a root shell, without init")),
    )
    virt_mode = ChoiceField(
        label="Virtualisation",
        choices=(
            ("paravirt", "paravirt: drivers for virtual machines"),
            ("fullvirt", "fullvirt: as a real machine"),
        ),
    )
    memory_limit = NumberField(label="Memory limit", help_text="MB. 0 is all the memory of the type.")
    root_device = TextField(label="Root device")

    def __init__(self, *args: Any, config: Config | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        disks = self.instance.disks.exclude(status=Disk.Status.DELETING).order_by("pk")
        rows, more = volumes_for(self.actor, self.instance)
        volumes = {volume.pk: volume.label for volume in rows}
        if config:  # its slots may have volumes that the user may not change
            volumes |= volume_names(self.actor, [config])
        self.fields |= device_fields(ConfigDevice.SLOTS, disks, volumes, more)
        for number in range(MAX_INTERFACES):
            self._add_interface(number)
        for name, label in HELPERS.items():
            self.fields[f"helpers.{name}"] = FlagField(label=label)
        kernels = Kernel.objects.filter(kvm=True).order_by("position", "pk").values_list("pk", "label")
        self.offer("kernel", [(pk, word.on_wire(label)) for pk, label in kernels])
        self.fields["root_device"].widget.attrs["list"] = "slots"

    def _add_interface(self, number: int) -> None:
        """Add the fields of an interface. If the region has no VLANs, its inputs of VLANs are disabled.

        An interface that is on a VLAN already keeps its inputs, so that saving the form does not empty them.
        """
        where = f"interfaces[{number}]"
        select = SelectWithReasons()
        label, address = TextField(label=f"VLAN of eth{number}"), TextField(label=f"Address of eth{number}")
        chosen = (self.data if self.is_bound else self.initial).get(f"{where}.purpose")
        if VLANS not in self.instance.region.capabilities and chosen != VLAN:
            select.reasons = {VLAN: NO_VLANS}
            label.help_text = NO_VLANS
            label.widget.attrs["disabled"] = address.widget.attrs["disabled"] = True
        self.fields[f"{where}.purpose"] = ChoiceField(label=f"eth{number}", choices=PURPOSES, widget=select)
        self.fields |= {f"{where}.label": label, f"{where}.ipam_address": address}

    # --- the parts of the page ------------------------------------------------------------------------------

    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in ("label", "kernel", "root_device", "memory_limit", "run_level", "virt_mode")]

    def devices(self) -> list[forms.BoundField]:
        return [self[f"devices.{slot}"] for slot in ConfigDevice.SLOTS]

    def interfaces(self) -> list[list[forms.BoundField]]:
        return [[self[f"interfaces[{row}].{name}"] for name in INTERFACE_FIELDS] for row in range(MAX_INTERFACES)]

    def helpers(self) -> list[forms.BoundField]:
        return [self[f"helpers.{name}"] for name in HELPERS]

    # --- the body of the request ----------------------------------------------------------------------------

    def _rows(self) -> list[int]:
        """The rows of interfaces that are filled."""
        given = self.cleaned_data
        return [
            row
            for row in range(MAX_INTERFACES)
            if any(given.get(f"interfaces[{row}].{name}") for name in INTERFACE_FIELDS)
        ]

    def is_sent(self, name: str, value: Any) -> bool:
        return not name.startswith("interfaces[") and super().is_sent(name, value)

    def as_body(self) -> dict[str, Any]:
        body = {"devices": {}, **super().as_body()}
        body["comments"] = body["comments"].replace("\r\n", "\n")  # browsers send line breaks of their own
        body["interfaces"] = [
            {
                name: self.cleaned_data[f"interfaces[{row}].{name}"]
                for name in INTERFACE_FIELDS
                if name == "purpose" or self.cleaned_data[f"interfaces[{row}].{name}"]
            }
            for row in self._rows()
        ]
        return body

    def renamed(self, error: DomainError) -> DomainError:
        """Return the same error with the form's names of fields that the service names differently."""
        names = renamed_devices(ConfigDevice.SLOTS)
        names["interfaces"] = "interfaces[0].purpose"
        for position, row in enumerate(self._rows()):
            names |= {f"interfaces[{position}].{name}": f"interfaces[{row}].{name}" for name in INTERFACE_FIELDS}
        return error.with_fields(lambda field: names.get(field or "", field))


def volume_names(actor: Actor, configs: Iterable[Config]) -> dict[int, str]:
    """The names of the volumes of profiles, by id: the label if the actor may see the volume. One query."""
    keys = {device.volume_id for config in configs for device in config.volume_devices.all()}
    seen = Volume.objects.visible_to(actor).in_bulk(keys)
    return {pk: seen[pk].label if pk in seen else f"Volume {pk}" for pk in sorted(keys)}


class EditConfigForm(ConfigForm):
    partial = True

    @staticmethod
    def initial_of(config: Config) -> dict[str, Any]:
        """The values of a profile that was read with its devices."""
        names = ("label", "comments", "run_level", "virt_mode", "memory_limit", "root_device")
        return {
            **{name: getattr(config, name) for name in names},
            "kernel": config.kernel_id,
            **{f"helpers.{name}": on for name, on in config.helpers.items()},
            **{f"devices.{device.slot}": disk_choice(device.disk_id) for device in config.devices.all()},
            **{f"devices.{device.slot}": volume_choice(device.volume_id) for device in config.volume_devices.all()},
            **{
                f"interfaces[{row}].{name}": value
                for row, interface in enumerate(config.interfaces)
                for name, value in interface.items()
            },
        }
