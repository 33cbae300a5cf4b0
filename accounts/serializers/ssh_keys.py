"""Serializers of SSH keys."""

from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.serializers import CharField, DateTimeField, IntegerField

from accounts.ssh_keys import UnsupportedKey, parse_public_key
from config.api.serializers import Resource


class PublicKeyField(CharField):
    """A line of an ``authorized_keys`` file, without options."""

    def to_internal_value(self, data: Any) -> Any:
        line, invalid = super().to_internal_value(data), self.error_messages["invalid"]
        try:
            parse_public_key(line)
        except UnsupportedKey as error:
            raise ValidationError([f"{invalid}: {error}"]) from error
        except ValueError as error:
            raise ValidationError([invalid]) from error
        return line


class SSHKeyResource(Resource):
    """A public key of a user."""

    id = IntegerField(read_only=True)
    label = CharField(
        min_length=0,
        max_length=64,
        allow_blank=True,
        required=False,
        help_text="A name for the key, up to 64 characters.",
    )
    ssh_key = PublicKeyField(
        help_text="The public key, as a line of an `authorized_keys` file: ssh-rsa, ssh-dss, "
        "ecdsa-sha2-nistp, ssh-ed25519, sk-ecdsa-sha2-nistp256 or sk-ssh-ed25519."
    )
    created = DateTimeField(read_only=True)


class SSHKeyLabel(Resource):
    """The body that changes the label of a key."""

    label = CharField(
        min_length=0,
        max_length=64,
        allow_blank=True,
        required=False,
        help_text="A name for the key, up to 64 characters.",
    )
