"""Serializers of the SSH settings of managed monitoring."""

import ipaddress

from rest_framework.serializers import BooleanField, CharField, IntegerField, ValidationError

from config.api.fields import Computed
from config.api.serializers import Resource
from managed.models import ComputeSettings


def access(chosen: bool | None) -> bool:
    return True if chosen is None else chosen


def ip(chosen: str | None) -> str:
    return chosen or ComputeSettings.ANY


def printable(user: str) -> None:
    """Refuse control characters: staff copy the name into a terminal, which would read them as keys that were
    pressed.
    """
    if not user.isprintable():
        raise ValidationError("ssh.user is not valid")


def any_or_address(ip: str) -> None:
    """Check the format. The service checks whether the compute has the address.

    The format is checked here, so that the answer names it together with other errors.
    """
    if ip == ComputeSettings.ANY:
        return
    try:
        ipaddress.ip_address(ip)
    except ValueError:
        raise ValidationError("ssh.ip is not valid") from None


class SSHResource(Resource):
    """The settings with which staff log in to an instance."""

    access = Computed(
        BooleanField(default=True),
        access,
        "managed_settings__access",
        help_text="Whether staff may log in. By default true.",
    )
    user = CharField(
        source="managed_settings.user",
        read_only=True,
        allow_null=True,
        help_text="The user that staff log in as. Null, the default, means root.",
    )
    ip = Computed(
        CharField(default="any"),
        ip,
        "managed_settings__ip",
        help_text="The address for logins of staff. `any`, the default, means all addresses.",
    )
    port = IntegerField(
        source="managed_settings.port",
        read_only=True,
        allow_null=True,
        help_text="The port of SSH. Null, the default, means 22.",
    )


class ComputeSettingsResource(Resource):
    """The managed settings of one compute."""

    id = IntegerField(read_only=True, help_text="The instance's id.")
    label = CharField(read_only=True, help_text="The instance's label.")
    group = CharField(read_only=True, help_text="The instance's group.")
    ssh = SSHResource(source="*", read_only=True, help_text="The settings for logins of staff by SSH.")


class SSHWish(Resource):
    """The changes of the settings with which staff log in."""

    access = BooleanField(required=False, help_text="Whether staff may log in.")
    user = CharField(
        min_length=0,
        max_length=32,
        required=False,
        allow_blank=True,
        allow_null=True,
        validators=[printable],
        help_text="The user that staff log in as. Null means root.",
    )
    ip = CharField(
        max_length=45,
        required=False,
        validators=[any_or_address],
        help_text="An address of the instance, or `any` for all addresses.",
    )
    port = IntegerField(
        min_value=1, max_value=65535, required=False, allow_null=True, help_text="The port of SSH. Null means 22."
    )


class ComputeSettingsWish(Resource):
    """The body that changes managed settings."""

    ssh = SSHWish(required=False, help_text="The changed settings for logins of staff by SSH.")
