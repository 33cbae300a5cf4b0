"""The body of a clone of an instance."""

from rest_framework.serializers import BooleanField, CharField, ListField

from compute.serializers.instances import LabelField
from config.api.common_fields import IdField
from config.api.serializers import Resource


class CloneRequest(Resource):
    """The body of a clone. Without `compute_id`, a new instance is made, with the source's values as defaults."""

    region = CharField(required=False, help_text="The region of the new instance; by default the source's.")
    type = CharField(required=False, help_text="The type of the new instance; by default the source's.")
    compute_id = IdField(required=False, help_text="An instance to clone into, in place of a new one.")
    label = LabelField(required=False, help_text="The new instance's label; by default one that is free.")
    group = CharField(max_length=50, allow_blank=True, required=False, help_text="The new instance's group.")
    backups_enabled = BooleanField(
        required=False,
        help_text="Whether the new instance has backups. By default false, unless the account's "
        "setting says otherwise.",
    )
    disks = ListField(
        child=IdField(), required=False, help_text="Disks to copy beside those that the profiles name."
    )
    configs = ListField(
        child=IdField(),
        required=False,
        help_text="Profiles to copy, with the disks they name; by default all but a rescue's.",
    )
