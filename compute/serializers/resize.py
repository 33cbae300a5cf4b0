"""The bodies of a resize and of an upgrade."""

from rest_framework.serializers import BooleanField, CharField

from config.api.serializers import Resource


class MutateRequest(Resource):
    """The body of an upgrade."""

    allow_auto_disk_resize = BooleanField(
        default=True, help_text="Whether the only disk besides swap grows with the type. By default true."
    )


class ResizeRequest(Resource):
    """The body of a resize."""

    type = CharField(help_text="The new type (`GET /compute/types`).")
    allow_auto_disk_resize = BooleanField(
        default=True,
        help_text="Whether the only disk besides swap is resized to the disk space of the type. By default true.",
    )
