"""Serializers of instances: bodies of creates and changes, and answers."""

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
    io = threshold("alert_io", "Disk blocks read and written a second; by default 10000.")
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
            "The day of the weekly backup, in UTC. Null while backups are disabled.",
            {
                "Scheduling": "The platform has not chosen yet.",
                "Sunday": "Sunday.",
                "Monday": "Monday.",
                "Tuesday": "Tuesday.",
                "Wednesday": "Wednesday.",
                "Thursday": "Thursday.",
                "Friday": "Friday.",
                "Saturday": "Saturday.",
                "null": "Backups are disabled.",
            },
        ),
    )
    window = ChoiceField(
        Instance.Window.choices,
        source="backups_window",
        allow_null=True,
        required=False,
        help_text=Meanings(
            "The two hours in which backups are taken, in UTC. Null while backups are disabled.",
            {
                "Scheduling": "The platform has not chosen yet.",
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
                "null": "Backups are disabled.",
            },
        ),
    )


def is_available(there: bool, maintenance: datetime | None) -> bool:
    """Tell whether there is a backup to restore, and the host is not under maintenance."""
    return there and maintenance is None


class Backups(Resource):
    """Backup settings of an instance."""

    enabled = BooleanField(
        source="backups_enabled", read_only=True, help_text="Whether the instance has daily backups."
    )
    available = Computed(
        BooleanField(),
        is_available,
        "backups_available",
        "host__maintenance",
        help_text="Whether there is a backup to restore. False while the host is under maintenance.",
    )
    schedule = Schedule(
        source="*", required=False, help_text="The time of the backups. The platform chooses missing values."
    )
    last_successful = DateTimeField(
        source="backups_last_successful",
        read_only=True,
        allow_null=True,
        help_text="The time at which the last backup was complete, in UTC. Null if there is none.",
    )


class Specs(Resource):
    """Resources of an instance, which its type defines."""

    disk = IntegerField(
        source="type.disk", read_only=True, help_text="The maximum size of all disks together, in MB."
    )
    memory = IntegerField(source="type.memory", read_only=True, help_text="Memory, in MB.")
    vcpus = IntegerField(source="type.vcpus", read_only=True, help_text="The number of virtual processors.")
    gpus = IntegerField(source="type.gpus", read_only=True, help_text="The number of graphics processors.")
    transfer = IntegerField(
        source="type.transfer", read_only=True, help_text="Outbound transfer for each month, in GB."
    )


class InstanceResource(Resource):
    """A virtual machine."""

    id = IntegerField(read_only=True)
    label = LabelField(
        required=False,
        help_text="A name for the instance, unique on the account: 3 to 64 letters, digits and `-_.`. None "
        "of `-_.` may be at an end or twice in a row. By default `compute` and its id.",
    )
    group = CharField(
        max_length=50,
        allow_blank=True,
        required=False,
        help_text="A group for sorting instances, up to 50 characters. Tags are recommended instead.",
    )
    status = ChoiceField(
        Instance.Status.choices,
        read_only=True,
        help_text=Meanings(
            "The status of the instance.",
            {
                "running": "The instance runs.",
                "offline": "The instance is powered off.",
                "booting": "The instance is being powered on.",
                "rebooting": "The instance is being rebooted.",
                "shutting_down": "The instance is being shut down.",
                "provisioning": "The instance is being created.",
                "deleting": "The instance is being deleted.",
                "migrating": "The instance moves to another host or region, or is being resized.",
                "rebuilding": "The disks of the instance are being replaced.",
                "cloning": "The instance is being cloned.",
                "restoring": "A backup is being restored to the instance.",
                "stopped": "The host of the instance is under maintenance.",
            },
        ),
    )
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    type = CharField(
        source="type_id", read_only=True, help_text="The id of the instance type (`GET /compute/types`)."
    )
    region = CharField(source="region_id", read_only=True)
    image = PlatformTextField(
        source="image_id",
        read_only=True,
        allow_null=True,
        help_text="The image that the instance was deployed from. Null if there is none.",
    )
    ipv4 = ListField(
        child=CharField(), read_only=True, help_text="The IPv4 addresses of the instance, public addresses first."
    )
    ipv6 = CharField(
        read_only=True,
        allow_null=True,
        help_text="The SLAAC address of the instance with `/128`. Null if there is none.",
    )
    specs = Specs(source="*", read_only=True, help_text="The resources of the instance type.")
    alerts = Alerts(
        source="*",
        required=False,
        help_text="The thresholds for alert mails. Each is compared with the average of two hours. 0 "
        "disables an alert.",
    )
    backups = Backups(source="*", required=False, help_text="Whether the instance has backups, and their schedule.")
    hypervisor = Constant(
        ChoiceField(["kvm"]),
        "kvm",
        help_text=Meanings(
            "The hypervisor.",
            {
                "kvm": "KVM.",
            },
        ),
    )
    watchdog_enabled = BooleanField(
        required=False,
        help_text="Whether the watchdog boots the instance if it powers off unexpectedly. By default true.",
    )
    tags = ListField(child=CharField(), required=False)
    host_uuid = UUIDField(source="host.uuid", read_only=True, help_text="The id of the instance's host.")


NO_METADATA = "user_data is not supported: this platform has no metadata service."


class MetadataRequest(Resource):
    """Data for a metadata service, which this platform does not have. Data that is not empty is refused."""

    user_data = CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        write_only=True,
        validators=[RegexValidator(r"\A\Z", NO_METADATA)],
        help_text="Must be empty. The platform does not support user data, and the instance would boot without it.",
    )

    def run_validation(self, data: Any = empty) -> Any:
        """Refuse user data that is not empty. The service never gets the field."""
        super().run_validation(data)
        raise SkipField


class InstanceCreate(DeployRequest):
    """The body of a new instance. With `backup_id`, disks, profiles and root's password are those of the backup."""

    region = CharField(help_text="The region of the instance (`GET /regions`).")
    type = CharField(help_text="The type of the instance (`GET /compute/types`).")
    label = LabelField(required=False)  # type: ignore[assignment] # mypy looks past `Resource`, which is no direct base
    backup_id = IdField(
        required=False,
        help_text="A backup to restore, instead of `image`. Disks, profiles and the password of root come "
        "from the backup.",
    )
    backups_enabled = BooleanField(
        required=False,
        help_text="Whether the instance has backups. By default false, or true if the account's setting "
        "enables backups.",
    )
    booted = BooleanField(
        default=True,
        write_only=True,
        help_text="Whether the instance is booted after the deployment. By default true.",
    )
    swap_size = IntegerField(
        min_value=0,
        max_value=MAX_INTEGER,
        default=512,
        help_text="The size of the swap disk in MB. By default 512. Only with `image`.",
    )
    interfaces = InterfacesField(
        required=False,
        help_text="The network interfaces of the instance's profile, at most three. The first one is "
        "`eth0`. If empty, there is one public interface.",
    )
    private_ip = BooleanField(
        required=False, help_text="Whether the instance also gets a private IPv4 address. By default false."
    )
    group = CharField(max_length=50, allow_blank=True, required=False)
    tags = ListField(child=CharField(), required=False)
    firewall_id = IdField(
        required=False,
        write_only=True,
        help_text="A firewall of the account. It filters the instance's traffic from the first boot.",
    )
    metadata = MetadataRequest(required=False, write_only=True, help_text="Refused with `user_data`.")

    class Meta:
        as_in = (InstanceResource,)


class BootRequest(Resource):
    """The body of a boot or reboot."""

    config_id = IdField(
        required=False,
        min_value=1,
        help_text="The configuration profile to boot. By default the profile of the last boot, or the only "
        "profile.",
    )


def spec_of(given: Mapping[str, Any]) -> InstanceSpec:
    """Return the spec for the service, from the valid fields of a body."""
    return InstanceSpec(**spec_fields(given))


def changes_of(given: dict[str, Any]) -> InstanceChanges:
    """Return the changes for the service, from the valid fields of a body."""
    tags = given.pop("tags", None)
    return InstanceChanges(given, None if tags is None else tuple(tags))
