"""Instances on the wire: bodies of creates and changes, and answers."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.validators import RegexValidator
from rest_framework.exceptions import ValidationError
from rest_framework.fields import SkipField, empty
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    IntegerField,
    ListField,
    UUIDField,
)

from compute.models import Instance
from compute.serializers.configs import InterfacesField
from compute.serializers.disks import MAX_INTEGER, DeployRequest, spec_fields
from compute.services.instances.instances import InstanceChanges, InstanceSpec
from config.api import reasons
from config.api.common_fields import IdField
from config.api.fields import Computed, Constant, PlatformTextField
from config.api.meanings import Meanings
from config.api.serializers import Resource

LABEL = r"^[A-Za-z0-9](?:[A-Za-z0-9]|[-_.](?![-_.]))*[A-Za-z0-9]$"
WRONG_LABEL = reasons.not_valid(
    "label", "letters, digits, - _ and . only, first and last a letter or a digit, and no two of - _ . in a row"
)


class LabelField(CharField):
    """A text of 3..64 characters that begins and ends alphanumeric, with no two of ``-_.`` in a row."""

    def __init__(self, **kwargs: Any):
        super().__init__(min_length=3, max_length=64, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not re.match(LABEL, value, re.ASCII):
            raise ValidationError([WRONG_LABEL])
        return value


def threshold(column: str, help_text: str) -> IntegerField:
    """Return the field of an alert's threshold for the average of two hours; 0 turns the alert off."""
    return IntegerField(source=column, min_value=0, max_value=MAX_INTEGER, required=False, help_text=help_text)


class Alerts(Resource):
    """Thresholds of an instance's alerts. A mail is sent when the average of two hours exceeds one; 0 turns an
    alert off."""

    cpu = threshold("alert_cpu", "Percent, 100 for each core; by default 90 for each.")
    io = threshold("alert_io", "Disk operations a second; by default 10000.")
    network_in = threshold("alert_network_in", "Mbit/s; by default 10.")
    network_out = threshold("alert_network_out", "Mbit/s; by default 10.")
    transfer_quota = threshold("alert_transfer_quota", "Percent of the month's transfer; by default 80.")


class Schedule(Resource):
    """The day and the window in which backups of an instance are taken."""

    day = ChoiceField(
        Instance.Day.choices,
        source="backups_day",
        allow_null=True,
        required=False,
        help_text=Meanings(
            "The day of the weekly backup, in UTC; null while there are no backups.",
            {
                "Scheduling": "The platform is about to choose.",
                "Sunday": "Sunday.",
                "Monday": "Monday.",
                "Tuesday": "Tuesday.",
                "Wednesday": "Wednesday.",
                "Thursday": "Thursday.",
                "Friday": "Friday.",
                "Saturday": "Saturday.",
                "null": "There are no backups yet.",
            },
        ),
    )
    window = ChoiceField(
        Instance.Window.choices,
        source="backups_window",
        allow_null=True,
        required=False,
        help_text=Meanings(
            "The two hours in which backups are taken, in UTC; null while there are no backups.",
            {
                "Scheduling": "The platform is about to choose.",
                "W0": "00:00 to 02:00.",
                "W2": "02:00 to 04:00.",
                "W4": "04:00 to 06:00.",
                "W6": "06:00 to 08:00.",
                "W8": "08:00 to 10:00.",
                "W10": "10:00 to 12:00.",
                "W12": "12:00 to 14:00.",
                "W14": "14:00 to 16:00.",
                "W16": "16:00 to 18:00.",
                "W18": "18:00 to 20:00.",
                "W20": "20:00 to 22:00.",
                "W22": "22:00 to 00:00.",
                "null": "There are no backups yet.",
            },
        ),
    )


def is_available(there: bool, maintenance: datetime | None) -> bool:
    """Tell whether there is a backup to restore, and the host is not under maintenance."""
    return there and maintenance is None


class Backups(Resource):
    """Backup settings of an instance."""

    enabled = BooleanField(
        source="backups_enabled", read_only=True, help_text="Whether the instance is backed up each day."
    )
    available = Computed(
        BooleanField(),
        is_available,
        "backups_available",
        "host__maintenance",
        help_text="Whether there is a backup to restore; false while the host is under maintenance.",
    )
    schedule = Schedule(
        source="*", required=False, help_text="When backups are taken. What is not chosen, the platform chooses."
    )
    last_successful = DateTimeField(
        source="backups_last_successful",
        read_only=True,
        allow_null=True,
        help_text="When the last one was complete, in UTC; null without.",
    )


class Specs(Resource):
    """Resources of an instance, which its type defines."""

    disk = IntegerField(source="type.disk", read_only=True, help_text="Room of all disks together, in MB.")
    memory = IntegerField(source="type.memory", read_only=True, help_text="Memory, in MB.")
    vcpus = IntegerField(source="type.vcpus", read_only=True, help_text="Number of virtual processors.")
    gpus = IntegerField(source="type.gpus", read_only=True, help_text="Number of graphics processors.")
    transfer = IntegerField(source="type.transfer", read_only=True, help_text="Outbound transfer, in GB a month.")


class InstanceResource(Resource):
    """A virtual machine."""

    id = IntegerField(read_only=True)
    label = LabelField(
        required=False,
        help_text="A name for it, unique on the account: 3 to 64 letters, digits and `-_.`, of which "
        "none is at an end or twice in a row. By default `compute` and its id.",
    )
    group = CharField(
        max_length=50,
        allow_blank=True,
        required=False,
        help_text="A word to sort instances by; up to 50 characters. Tags do it better.",
    )
    status = ChoiceField(
        Instance.Status.choices,
        read_only=True,
        help_text=Meanings(
            "What it does now.",
            {
                "running": "It runs.",
                "offline": "It is off.",
                "booting": "It is being powered on.",
                "rebooting": "It is being shut down and booted again.",
                "shutting_down": "It is being powered off.",
                "provisioning": "It is being made.",
                "deleting": "It is being deleted.",
                "migrating": "It moves to another host or region, or gets another type.",
                "rebuilding": "Its disks are being replaced.",
                "cloning": "It is being copied.",
                "restoring": "A backup is being restored to it.",
                "stopped": "Its host is under maintenance.",
            },
        ),
    )
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    type = CharField(source="type_id", read_only=True, help_text="The id of its type (`GET /compute/types`).")
    region = CharField(source="region_id", read_only=True)
    image = PlatformTextField(
        source="image_id",
        read_only=True,
        allow_null=True,
        help_text="The image that it was deployed from; null without.",
    )
    ipv4 = ListField(child=CharField(), read_only=True, help_text="Its IPv4 addresses, public ones first.")
    ipv6 = CharField(read_only=True, allow_null=True, help_text="Its SLAAC address with `/128`; null without.")
    specs = Specs(source="*", read_only=True, help_text="What its type gives it.")
    alerts = Alerts(
        source="*", required=False, help_text="Above which averages of two hours mails are sent; 0 is off."
    )
    backups = Backups(source="*", required=False, help_text="Whether and when it is backed up.")
    hypervisor = Constant(
        ChoiceField(["kvm"]),
        "kvm",
        help_text=Meanings(
            "What it runs on.",
            {
                "kvm": "KVM.",
            },
        ),
    )
    watchdog_enabled = BooleanField(
        required=False, help_text="Whether it is booted again when it goes off by itself. By default true."
    )
    tags = ListField(child=CharField(), required=False)
    host_uuid = UUIDField(source="host.uuid", read_only=True, help_text="The host that it is on.")


NO_METADATA = "user_data is not supported: this platform has no metadata service."


class MetadataRequest(Resource):
    """Data for a metadata service, which this platform does not have. Data that is not empty is refused."""

    user_data = CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        write_only=True,
        validators=[RegexValidator(r"\A\Z", NO_METADATA)],
        help_text="Refused unless empty, because the instance would boot without this data.",
    )

    def run_validation(self, data: Any = empty) -> Any:
        """Refuse user data that is not empty. The service never gets the field."""
        super().run_validation(data)
        raise SkipField


class InstanceCreate(DeployRequest):
    """The body of a new instance. With `backup_id`, disks, profiles and root's password are those of the backup."""

    region = CharField(help_text="The region it is to be in (`GET /regions`).")
    type = CharField(help_text="The type it is to have (`GET /compute/types`).")
    label = LabelField(required=False)  # type: ignore[assignment] # mypy looks past `Resource`, which is no direct base
    backup_id = IdField(
        required=False,
        help_text="A backup to restore, in place of `image`; disks, profiles and root's password are as in it.",
    )
    backups_enabled = BooleanField(
        required=False,
        help_text="Whether it has backups. By default false, unless the account's setting says otherwise.",
    )
    booted = BooleanField(
        default=True, write_only=True, help_text="Whether it is booted once it is deployed. By default true."
    )
    swap_size = IntegerField(
        min_value=0,
        max_value=MAX_INTEGER,
        default=512,
        help_text="MB of the swap disk; by default 512. Only with `image`.",
    )
    interfaces = InterfacesField(
        required=False,
        help_text="The network interfaces of its profile, `eth0` first, three at most. Without any it "
        "has the public one.",
    )
    private_ip = BooleanField(
        required=False, help_text="Whether it also gets a private IPv4 address. By default false."
    )
    group = CharField(max_length=50, allow_blank=True, required=False)
    tags = ListField(child=CharField(), required=False)
    firewall_id = IdField(
        required=False,
        write_only=True,
        help_text="A firewall of the account. It filters the instance from the first boot on.",
    )
    metadata = MetadataRequest(required=False, write_only=True, help_text="Refused with `user_data`.")

    class Meta:
        as_in = (InstanceResource,)


class BootRequest(Resource):
    """The body of a boot or reboot."""

    config_id = IdField(
        required=False,
        min_value=1,
        help_text="The configuration profile to boot; by default the one booted last, else the only one.",
    )


def spec_of(given: Mapping[str, Any]) -> InstanceSpec:
    """Return the spec that the service takes, from the good fields of a body."""
    return InstanceSpec(**spec_fields(given))


def changes_of(given: dict[str, Any]) -> InstanceChanges:
    """Return the changes that the service takes, from the good fields of a body."""
    tags = given.pop("tags", None)
    return InstanceChanges(given, None if tags is None else tuple(tags))
