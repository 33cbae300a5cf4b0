"""The body of a migration."""

from rest_framework.serializers import BooleanField, CharField

from config.api.serializers import Resource


class MigrateRequest(Resource):
    """The body of a migration: to another `region`, or without it to another host."""

    region = CharField(
        required=False,
        help_text="The region to move to. Without a region, the scheduled host migration starts now.",
    )
    upgrade = BooleanField(
        default=False,
        help_text="Whether a deprecated type is upgraded to its replacement. By default false.",
    )
