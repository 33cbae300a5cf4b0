"""The body of a clone of an instance."""

from rest_framework.serializers import BooleanField, CharField, ListField

from compute.serializers.instances import LabelField
from config.api.common_fields import IdField
from config.api.serializers import Resource


class CloneRequest(Resource):
    """The body of a clone. Without `compute_id`, a new instance is made, with the source's values as defaults."""

    region = CharField(
        required=False, help_text="The region of the new instance. By default the region of the source."
    )
    type = CharField(required=False, help_text="The type of the new instance. By default the type of the source.")
    compute_id = IdField(required=False, help_text="An existing instance to clone to, instead of a new one.")
    label = LabelField(
        required=False, help_text="The label of the new instance. By default the platform chooses one."
    )
    group = CharField(max_length=50, allow_blank=True, required=False, help_text="The new instance's group.")
    backups_enabled = BooleanField(
        required=False,
        help_text="Whether the new instance has backups. By default false, or true if the account's "
        "setting enables backups.",
    )
    disks = ListField(
        child=IdField(), required=False, help_text="Disks to copy in addition to the disks of the profiles."
    )
    configs = ListField(
        child=IdField(),
        required=False,
        help_text="Profiles to copy, with their disks. By default all profiles except the rescue profile.",
    )
