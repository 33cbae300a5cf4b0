"""The bodies of a rebuild and of a new root password."""

from rest_framework.serializers import BooleanField, CharField

from compute.serializers.disks import DeployRequest
from compute.serializers.instances import MetadataRequest
from config.api.fields import PlatformTextField
from config.api.serializers import Resource


class RebuildRequest(DeployRequest):
    """The body of a rebuild."""

    image = PlatformTextField(
        error_messages=dict.fromkeys(("required", "blank"), "You must specify an image"),
        help_text="The image to deploy.",
    )
    root_pass = CharField(
        min_length=7,
        max_length=128,
        trim_whitespace=False,
        write_only=True,
        help_text="The password of root, 7 to 128 characters. It must be strong.",
    )
    booted = BooleanField(
        default=True, write_only=True, help_text="Whether the instance is booted afterwards. By default true."
    )
    metadata = MetadataRequest(required=False, write_only=True, help_text="Refused with `user_data`.")


class PasswordRequest(Resource):
    """The body of a new root password."""

    root_pass = CharField(
        trim_whitespace=False, write_only=True, help_text="The new password of root. It must be strong."
    )
