"""Deployment scripts on the wire."""

from rest_framework.serializers import BooleanField, CharField, DateTimeField, IntegerField, ListField

from config.api.fields import PlatformTextField
from config.api.serializers import Resource


class UserDefinedField(Resource):
    """A user-defined field of a script, as its UDF tag describes it."""

    label = CharField(help_text="What is asked, for people.")
    name = CharField(help_text="The name of the value in `stackscript_data`.")
    example = CharField(help_text="A value, for people.")
    oneOf = CharField(help_text="The values of which one is chosen, separated by commas.")  # noqa: N815
    manyOf = CharField(help_text="The values of which any number is chosen, separated by commas.")  # noqa: N815
    default = CharField(help_text="The value where none is given. A field without one is required.")

    class Meta:
        sometimes = ("example", "oneOf", "manyOf", "default")
        read_only = True


class StackScriptResource(Resource):
    """A script that runs at the first boot of a disk."""

    id = IntegerField(read_only=True)
    username = CharField(read_only=True, help_text="The user who made it.")
    user_gravatar_id = CharField(
        read_only=True, help_text="The MD5 of that user's mail address, for a picture from Gravatar."
    )
    label = CharField(min_length=3, max_length=128, required=False, help_text="A name for it; 3 to 128 characters.")
    description = CharField(allow_blank=True, required=False, help_text="What it does.")
    ordinal = IntegerField(
        read_only=True, help_text="Its place among those that the platform recommends; 0 of others."
    )
    logo_url = CharField(
        read_only=True, help_text="A picture of those that the platform recommends; empty of others."
    )
    images = ListField(
        child=PlatformTextField(),
        allow_empty=False,
        required=False,
        help_text="The ids of the images that it can be deployed on, or `any/all`.",
    )
    deployments_total = IntegerField(read_only=True, help_text="How often it was deployed.")
    deployments_active = IntegerField(read_only=True, help_text="Disks there are of those deployed with it.")
    is_public = BooleanField(
        required=False,
        help_text="Whether everybody sees and may deploy it. Cannot be taken back. By default false.",
    )
    mine = BooleanField(read_only=True, help_text="Whether it is of the account.")
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    rev_note = CharField(allow_blank=True, required=False, help_text="What the last change was about.")
    script = CharField(
        trim_whitespace=False, required=False, help_text="The script itself; its first line names what runs it."
    )
    user_defined_fields = UserDefinedField(
        many=True, read_only=True, help_text="The values that it asks for, read out of its UDF tags."
    )


class StackScriptCreate(StackScriptResource):
    """The body of a new script."""

    label = CharField(min_length=3, max_length=128)
    images = ListField(child=PlatformTextField(), allow_empty=False, help_text="Ids, or `any/all` for every image.")
    script = CharField(trim_whitespace=False)
