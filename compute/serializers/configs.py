"""Serializers of configuration profiles, with their devices and network interfaces."""

import re
from itertools import islice
from typing import Any

import orjson
from django.db import models
from django.db.models import F, Func, Model, OuterRef, Subquery, Value
from django.db.models.aggregates import Aggregate
from django.db.models.functions import Coalesce, JSONObject
from drf_spectacular.utils import extend_schema_field
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    IntegerField,
    JSONField,
    ListSerializer,
)

from compute.models import Config, ConfigDevice, VolumeDevice
from compute.serializers.disks import MAX_INTEGER
from compute.services.instances.configs import ConfigChanges
from config.api import reasons
from config.api.common_fields import IdField
from config.api.fields import Annotated, Computed, Constant, PlatformTextField
from config.api.meanings import Meanings
from config.api.serializers import Positions, Resource

MAX_INTERFACES = 3
MAX_NAMED = 100
"""The most unknown slots of a body that an answer names."""
ROOT_DEVICE = r"[A-Za-z0-9/_-]+"
MAX_COMMENTS = 65535

PURPOSES = Meanings(
    "The network that the interface connects to.",
    {
        "public": "The internet. At most one interface can be public.",
        "vlan": "A VLAN of the account in the region.",
    },
)


class InterfaceResource(Resource):
    purpose = ChoiceField(["public", "vlan"])
    label = CharField(min_length=1, max_length=64, allow_blank=True, required=False)
    ipam_address = CharField(allow_blank=True, required=False)


@extend_schema_field(
    {
        "type": "array",
        "maxItems": MAX_INTERFACES,
        "required": ["purpose"],
        "items": {
            "type": "object",
            "description": "One network interface.",
            "required": ["purpose"],
            "properties": {
                "purpose": {
                    "type": "string",
                    "enum": ["public", "vlan"],
                    "description": PURPOSES.table,
                    "x-enum-descriptions": dict(PURPOSES.values),
                },
                "label": {
                    "type": ["string", "null"],
                    "minLength": 1,
                    "maxLength": 64,
                    "description": "The VLAN's name: letters, digits and dashes. Empty for a public interface.",
                },
                "ipam_address": {
                    "type": ["string", "null"],
                    "format": "ip/netmask",
                    "description": "The instance's address in the VLAN, such as `10.0.0.1/24`; may be empty. "
                    "Null for a public interface.",
                },
            },
        },
    }
)
class InterfacesField(JSONField):
    """The interfaces of a profile, in order. They are a JSON column, checked as a list of `InterfaceResource`."""

    items: ListSerializer = ListSerializer(child=InterfaceResource())
    reasons.describe("interfaces", items)
    item = items.child
    """The serializer of one interface."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, list):
            self.fail("invalid")
        return self.items.run_validation(data)


def shown_interfaces(stored: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the interfaces of a profile as the API shows them. `ipam_address` of a public interface is null."""
    interfaces = orjson.loads(stored) if isinstance(stored, str) else stored
    return [{**each, "ipam_address": None} if each["purpose"] == "public" else each for each in interfaces]


class Helpers(Resource):
    """Boot helpers: changes that the platform makes to the system on the root device before it boots."""

    updatedb_disabled = BooleanField(required=False, help_text="Disables the daily run of `updatedb`.")
    distro = BooleanField(required=False, help_text="Adapts the system to the platform: console, file systems.")
    modules_dep = BooleanField(required=False, help_text="Rewrites the list of kernel modules.")
    network = BooleanField(
        required=False, help_text="Writes the network configuration with the instance's addresses."
    )
    devtmpfs_automount = BooleanField(required=False, help_text="Mounts `/dev` when the kernel starts.")


class Device(Resource):
    """A disk or a volume: exactly one of the two."""

    disk_id = IdField(allow_null=True, required=False, help_text="A disk of the instance, or null.")
    volume_id = IdField(
        allow_null=True, required=False, help_text="A volume of the account in the same region, or null."
    )


class Devices(Resource):
    """The devices in the slots of a profile; null for an empty slot. A profile has no other slots."""

    sda = Device(allow_null=True, required=False, help_text="The disk or volume on `/dev/sda`. Null for none.")
    sdb = Device(allow_null=True, required=False, help_text="The disk or volume on `/dev/sdb`. Null for none.")
    sdc = Device(allow_null=True, required=False, help_text="The disk or volume on `/dev/sdc`. Null for none.")
    sdd = Device(allow_null=True, required=False, help_text="The disk or volume on `/dev/sdd`. Null for none.")
    sde = Device(allow_null=True, required=False, help_text="The disk or volume on `/dev/sde`. Null for none.")
    sdf = Device(allow_null=True, required=False, help_text="The disk or volume on `/dev/sdf`. Null for none.")
    sdg = Device(allow_null=True, required=False, help_text="The disk or volume on `/dev/sdg`. Null for none.")
    sdh: Device | None = Device(
        allow_null=True, required=False, help_text="The disk or volume on `/dev/sdh`. Null for none."
    )

    def examine(
        self, data: dict[str, Any], positions: Positions | None = None, path: str = ""
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        values, wrong = super().examine(data, positions, path)
        others = (name for name, device in data.items() if device is not None and name not in self.fields)
        wrong.update((name, [reasons.not_valid(f"{self.within}{name}")]) for name in islice(others, MAX_NAMED))
        return values, wrong


class RootDeviceField(CharField):
    """The path of a device, such as ``/dev/sda``."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not re.fullmatch(ROOT_DEVICE, value, re.ASCII):
            self.fail("invalid")
        return value


class _ObjectAgg(Aggregate):
    function = "jsonb_object_agg"
    output_field = models.JSONField()


class _Merge(Func):
    template = "(%(expressions)s)"
    arg_joiner = " || "
    output_field = models.JSONField()


def _filled(model: type[Model], **device: Any) -> Coalesce:
    """Return an expression: the slots of a profile that rows of `model` fill, as one JSON object."""
    rows = model._default_manager.filter(config=OuterRef("pk")).order_by().values("config")
    by_slot = rows.annotate(by_slot=_ObjectAgg("slot", JSONObject(**device))).values("by_slot")
    return Coalesce(Subquery(by_slot), Value({}, models.JSONField()))


def _all_slots() -> _Merge:
    """Return an expression: all eight slots of a profile as one JSON object, with ``null`` for an empty slot."""
    none = Value(None, models.JSONField())
    return _Merge(
        Value(dict.fromkeys(ConfigDevice.SLOTS), models.JSONField()),
        _filled(ConfigDevice, disk_id="disk_id", volume_id=none),
        _filled(VolumeDevice, disk_id=none, volume_id="volume_id"),
    )


class ConfigRequest(Resource):
    """Values of a configuration profile. A change replaces `devices` and `interfaces` as a whole, and only the
    given `helpers`."""

    label = CharField(min_length=1, max_length=48, help_text="A name for the profile, up to 48 characters.")
    kernel = PlatformTextField(
        source="kernel_id",
        required=False,
        help_text="The kernel to boot (`GET /compute/kernels`). By default `compute/latest-64bit`.",
    )
    comments = CharField(
        max_length=MAX_COMMENTS,
        allow_null=True,
        allow_blank=True,
        trim_whitespace=False,
        required=False,
        help_text="Notes, up to 65,535 characters.",
    )
    memory_limit = IntegerField(
        min_value=0,
        max_value=MAX_INTEGER,
        required=False,
        help_text="The memory of the instance in MB, up to its type's memory. 0, the default, is all "
        "memory of the type.",
    )
    run_level = ChoiceField(
        Config.RunLevel.choices,
        required=False,
        help_text=Meanings(
            "The run level.",
            {
                "default": "The default of the system.",
                "single": "Single-user mode.",
                "binbash": "A root shell, without the init system.",
            },
        ),
    )
    virt_mode = ChoiceField(
        Config.VirtMode.choices,
        required=False,
        help_text=Meanings(
            "The virtualization mode of the devices.",
            {
                "paravirt": "Paravirtualized devices. The default.",
                "fullvirt": "Emulated devices of a physical machine.",
            },
        ),
    )
    interfaces = InterfacesField(
        required=False,
        help_text="The network interfaces, at most three. The first one is `eth0`. If empty, there is one "
        "public interface.",
    )
    helpers = Helpers(
        required=False,
        help_text="The helpers, which prepare the system before each boot. In a new profile, missing "
        "helpers are enabled.",
    )
    devices = Devices(help_text="The disks and volumes by device. A change replaces all devices.")
    root_device = RootDeviceField(
        max_length=64, required=False, help_text="The device of the root file system. By default `/dev/sda`."
    )


class ConfigResource(Resource):
    """A configuration profile: how an instance boots."""

    id = IntegerField(read_only=True)
    label = CharField(min_length=1, max_length=48)
    kernel = PlatformTextField(source="kernel_id")
    comments = CharField(allow_null=True)
    memory_limit = IntegerField()
    run_level = ChoiceField(Config.RunLevel.choices)
    virt_mode = ChoiceField(Config.VirtMode.choices)
    interfaces = Computed(InterfacesField(), shown_interfaces, "interfaces")
    helpers = Annotated(Helpers(), F("helpers"))
    devices = Annotated(Devices(), _all_slots())
    root_device = CharField()
    initrd = Constant(
        CharField(allow_null=True), None, help_text="Always null, because kernels contain their initrd."
    )
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)

    class Meta:
        as_in = (ConfigRequest,)


def changes_of(given: dict[str, Any]) -> ConfigChanges:
    """Return the changes for the service, from the valid fields of a body."""
    apart = {name: given.pop(name, None) for name in ("helpers", "devices", "interfaces")}
    return ConfigChanges(given, **apart)
