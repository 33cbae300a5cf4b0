"""Serializers of contacts of managed monitoring."""

from rest_framework.serializers import CharField, DateTimeField, EmailField, IntegerField

from config.api.common_fields import printable
from config.api.serializers import Resource


def phone(source: str, help_text: str) -> CharField:
    return CharField(
        source=source, max_length=32, required=False, allow_blank=True, allow_null=True, help_text=help_text
    )


class Phone(Resource):
    """The telephone numbers of a contact."""

    primary = phone("phone_primary", "The number to ring first; null or up to 32 characters.")
    secondary = phone("phone_secondary", "The number to ring next; null or up to 32 characters.")


class ContactResource(Resource):
    """A person who is notified of problems."""

    id = IntegerField(read_only=True)
    name = CharField(
        min_length=2,
        max_length=64,
        validators=[printable("name")],
        help_text="The name of the contact, 2 to 64 characters.",
    )
    email = EmailField(max_length=128, help_text="The mail address for messages about problems.")
    phone = Phone(source="*", required=False, help_text="The telephone numbers.")
    group = CharField(
        min_length=2,
        max_length=50,
        required=False,
        allow_null=True,
        help_text="The group of the contact, which services refer to. Null for none.",
    )
    updated = DateTimeField(read_only=True)
