"""What instances and their parts look like on the wire."""

import re
from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    DictField,
    IntegerField,
    JSONField,
    ListField,
    UUIDField,
)

from compute.models import Disk, Instance
from config.api.fields import Computed, Constant
from config.api.serializers import Resource

LARGEST = 2**31 - 1
MOST_INTERFACES = 3
LABEL = r"^[A-Za-z0-9](?:[A-Za-z0-9]|[-_.](?![-_.]))*[A-Za-z0-9]$"


class LabelField(CharField):
    """3..64 characters that begin and end alphanumeric, with no two of ``-_.`` in a row."""

    def __init__(self, **kwargs: Any):
        super().__init__(min_length=3, max_length=64, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not re.match(LABEL, value, re.ASCII):
            self.fail("invalid")
        return value


def threshold(column: str) -> IntegerField:
    """An alert's limit, averaged over two hours; 0 turns it off."""
    return IntegerField(source=column, min_value=0, max_value=LARGEST, required=False)


class Alerts(Resource):
    cpu = threshold("alert_cpu")
    io = threshold("alert_io")
    network_in = threshold("alert_network_in")
    network_out = threshold("alert_network_out")
    transfer_quota = threshold("alert_transfer_quota")


class Schedule(Resource):
    day = ChoiceField(Instance.Day.choices, source="backups_day", allow_null=True, required=False)
    window = ChoiceField(Instance.Window.choices, source="backups_window", allow_null=True, required=False)


def is_available(there: bool, maintenance: datetime | None) -> bool:
    """Whether there is a backup to restore from, and the host is not under maintenance."""
    return there and maintenance is None


class Backups(Resource):
    enabled = BooleanField(source="backups_enabled", read_only=True)
    available = Computed(BooleanField(), is_available, "backups_available", "host__maintenance")
    schedule = Schedule(source="*", required=False)
    last_successful = DateTimeField(source="backups_last_successful", read_only=True, allow_null=True)


class Specs(Resource):
    disk = IntegerField(source="type.disk", read_only=True)
    memory = IntegerField(source="type.memory", read_only=True)
    vcpus = IntegerField(source="type.vcpus", read_only=True)
    gpus = IntegerField(source="type.gpus", read_only=True)
    transfer = IntegerField(source="type.transfer", read_only=True)


class InstanceResource(Resource):
    id = IntegerField(read_only=True)
    label = LabelField(required=False)
    group = CharField(max_length=50, allow_blank=True, required=False)
    status = ChoiceField(Instance.Status.choices, read_only=True)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    type = CharField(source="type_id", read_only=True)
    region = CharField(source="region_id", read_only=True)
    image = CharField(source="image_id", read_only=True, allow_null=True)
    ipv4 = ListField(child=CharField(), read_only=True)
    ipv6 = CharField(read_only=True, allow_null=True)
    specs = Specs(source="*", read_only=True)
    alerts = Alerts(source="*", required=False)
    backups = Backups(source="*", required=False)
    hypervisor = Constant(ChoiceField(["kvm"]), "kvm")
    watchdog_enabled = BooleanField(required=False)
    tags = ListField(child=CharField(), required=False)
    host_uuid = UUIDField(source="host.uuid", read_only=True)

    class Meta:
        filterable = ("id", "label", "group", "region", "image", "ipv4", "tags")


class InterfaceResource(Resource):
    purpose = ChoiceField(["public", "vlan"])
    label = CharField(min_length=1, max_length=64, allow_null=True, allow_blank=True, required=False)
    ipam_address = CharField(allow_null=True, allow_blank=True, required=False)


@extend_schema_field(
    {
        "type": "array",
        "maxItems": MOST_INTERFACES,
        "required": ["purpose"],
        "items": {
            "type": "object",
            "required": ["purpose"],
            "properties": {
                "purpose": {"type": "string", "enum": ["public", "vlan"]},
                "label": {"type": "string", "minLength": 1, "maxLength": 64, "nullable": True},
                "ipam_address": {"type": "string", "format": "ip/netmask", "nullable": True},
            },
        },
    }
)
class InterfacesField(JSONField):
    """The interfaces of a profile, in order. A column of JSON, checked as a list of `InterfaceResource`."""

    def to_internal_value(self, data: Any) -> Any:
        return InterfaceResource(many=True).run_validation(data)


class DeployRequest(Resource):
    """What is to be put on a disk, in each body that deploys an image."""

    image = CharField(required=False)
    root_pass = CharField(min_length=7, max_length=128, trim_whitespace=False, required=False, write_only=True)
    authorized_keys = ListField(child=CharField(), required=False, write_only=True)
    authorized_users = ListField(child=CharField(), required=False, write_only=True)
    stackscript_id = IntegerField(required=False)
    stackscript_data = DictField(required=False, write_only=True)


class InstanceCreate(DeployRequest):
    """The body of a create. With `backup_id`, disks, profiles and root's password are as in that backup."""

    region = CharField()
    type = CharField()
    label = LabelField(required=False)  # type: ignore[assignment] # mypy looks past `Resource`, which is no direct base
    backup_id = IntegerField(required=False)
    backups_enabled = BooleanField(required=False)
    booted = BooleanField(default=True, write_only=True)
    swap_size = IntegerField(min_value=0, max_value=LARGEST, default=512)
    interfaces = InterfacesField(required=False)
    private_ip = BooleanField(required=False)
    group = CharField(max_length=50, allow_blank=True, required=False)
    tags = ListField(child=CharField(), required=False)


class BootRequest(Resource):
    config_id = IntegerField(required=False, allow_null=True, min_value=1)


class DiskResource(Resource):
    id = IntegerField(read_only=True)
    label = CharField(min_length=1, max_length=48)
    status = ChoiceField(Disk.Status.choices, read_only=True)
    size = IntegerField(min_value=1, max_value=LARGEST)
    filesystem = ChoiceField(Disk.Filesystem.choices)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)

    class Meta:
        filterable = ("label", "size")
