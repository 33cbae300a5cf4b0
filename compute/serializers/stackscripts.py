"""Serializers of deployment scripts."""

from rest_framework.serializers import BooleanField, CharField, DateTimeField, IntegerField, ListField

from config.api.fields import PlatformTextField
from config.api.serializers import Resource


class UserDefinedField(Resource):
    """A user-defined field of a script, as its UDF tag describes it."""

    label = CharField(help_text="The label of the field, for display.")
    name = CharField(help_text="The name of the field in `stackscript_data`.")
    example = CharField(help_text="An example of a value.")
    oneOf = CharField(help_text="The possible values, separated by commas. The user chooses one.")  # noqa: N815
    manyOf = CharField(help_text="The possible values, separated by commas. The user chooses any number.")  # noqa: N815
    default = CharField(help_text="The default value. A field without a default is required.")

    class Meta:
        sometimes = ("example", "oneOf", "manyOf", "default")
        read_only = True


class StackScriptResource(Resource):
    """A script that runs at the first boot of a disk."""

    id = IntegerField(read_only=True)
    username = CharField(read_only=True, help_text="The user who created the StackScript.")
    user_gravatar_id = CharField(
        read_only=True, help_text="The MD5 of the user's mail address, for a picture from Gravatar."
    )
    label = CharField(
        min_length=3, max_length=128, required=False, help_text="A name for the StackScript, 3 to 128 characters."
    )
    description = CharField(allow_blank=True, required=False, help_text="A description of the StackScript.")
    ordinal = IntegerField(
        read_only=True, help_text="The position among the recommended StackScripts. 0 for others."
    )
    logo_url = CharField(read_only=True, help_text="The picture of a recommended StackScript. Empty for others.")
    images = ListField(
        child=PlatformTextField(),
        allow_empty=False,
        required=False,
        help_text="The ids of the images that the StackScript can be deployed on, or `any/all`.",
    )
    deployments_total = IntegerField(read_only=True, help_text="The number of deployments.")
    deployments_active = IntegerField(
        read_only=True, help_text="The number of existing disks that were deployed with the StackScript."
    )
    is_public = BooleanField(
        required=False,
        help_text="Whether the StackScript is public: all accounts can see and deploy it. This cannot be "
        "undone. By default false.",
    )
    mine = BooleanField(read_only=True, help_text="Whether the StackScript belongs to the account.")
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    rev_note = CharField(allow_blank=True, required=False, help_text="A note about the last change.")
    script = CharField(
        trim_whitespace=False, required=False, help_text="The script. The first line names its interpreter."
    )
    user_defined_fields = UserDefinedField(
        many=True, read_only=True, help_text="The fields of the StackScript, from its UDF tags."
    )


class StackScriptCreate(StackScriptResource):
    """The body of a new script."""

    label = CharField(min_length=3, max_length=128)
    images = ListField(
        child=PlatformTextField(), allow_empty=False, help_text="Ids of images, or `any/all` for all images."
    )
    script = CharField(trim_whitespace=False)
