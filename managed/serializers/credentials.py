"""Serializers of credentials of managed monitoring."""

from typing import Any

from rest_framework.serializers import CharField, DateTimeField, IntegerField

from config.api.common_fields import printable
from config.api.serializers import Resource

MAX_PASSWORD_LENGTH = 5000


def label(**kwargs: Any) -> CharField:
    return CharField(min_length=2, max_length=75, validators=[printable("label")], **kwargs)


def username() -> CharField:
    return CharField(
        min_length=0, max_length=5000, required=False, allow_blank=True, trim_whitespace=False, write_only=True,
        help_text="The username, up to 5000 characters. It is not shown again.",
    )  # fmt: skip


def password() -> CharField:
    return CharField(
        max_length=MAX_PASSWORD_LENGTH, trim_whitespace=False, write_only=True,
        help_text="The secret. It is encrypted and not shown again.",
    )  # fmt: skip


class CredentialResource(Resource):
    """A credential. No answer contains its username or password."""

    id = IntegerField(read_only=True)
    label = label(help_text="A name for the credential, unique on the account, 2 to 75 characters.")
    last_decrypted = DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="The time at which staff last read the secret, in UTC. Null if never.",
    )


class NewCredential(CredentialResource):
    """The body of a new credential."""

    username = username()
    password = password()


class CredentialSecret(Resource):
    """The body that changes the secret of a credential."""

    username = username()
    password = password()


class KeyResource(Resource):
    """The public key of managed monitoring."""

    ssh_key = CharField(read_only=True, help_text="A line for the `authorized_keys` file of a compute's user.")
