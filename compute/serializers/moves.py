"""The body of a migration."""

from rest_framework.serializers import BooleanField, CharField

from config.api.serializers import Resource


class MigrateRequest(Resource):
    """The body of a migration: to another `region`, or without it to another host."""

    region = CharField(
        required=False,
        help_text="The region to move to; without it, the host migration that is scheduled starts now.",
    )
    upgrade = BooleanField(
        default=False,
        help_text="Whether it also gets the newer type that replaces a deprecated one. By default false.",
    )
