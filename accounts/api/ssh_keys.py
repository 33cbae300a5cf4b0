"""The SSH keys on the acting user's profile."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, DateTimeField, IntegerField

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.filters.ssh_keys import SSHKeyFilterSet
from accounts.models import SSHKey
from accounts.services import ssh_keys
from accounts.ssh_keys import UnsupportedKey, parse_public_key
from config.api.access import ANYONE
from config.api.operations import operation
from config.api.serializers import Resource
from config.api.views import ReadOnlyModelViewSet


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
        help_text="A name for the key; up to 64 characters.",
    )
    ssh_key = PublicKeyField(
        help_text="The public key, as a line of an `authorized_keys` file: ssh-rsa, ssh-dss, "
        "ecdsa-sha2-nistp, ssh-ed25519, sk-ecdsa-sha2-nistp256 or sk-ssh-ed25519."
    )
    created = DateTimeField(read_only=True)


class SSHKeyLabel(Resource):
    """The body of another label of a key."""

    label = CharField(
        min_length=0,
        max_length=64,
        allow_blank=True,
        required=False,
        help_text="A name for the key; up to 64 characters.",
    )


class SSHKeyViewSet(ReadOnlyModelViewSet[Actor, SSHKey]):
    """Public keys of the acting user, for new instances (`authorized_users`)."""

    serializer_class = SSHKeyResource
    filterset_class = SSHKeyFilterSet
    required_scopes = READ
    required_grant = ANYONE

    def get_queryset(self) -> QuerySet[SSHKey]:
        return SSHKey.objects.filter(user_id=self.viewer.person)

    @operation(WRITE, ANYONE)
    def create(self, request: Request) -> Response:
        """Add a public key.

        The key has to parse.
        """
        given = self.validated()
        made = ssh_keys.add(self.actor, given["ssh_key"], given.get("label", ""))
        return Response(self.get_serializer(made).data)

    @operation(WRITE, ANYONE, request=SSHKeyLabel)
    def update(self, request: Request, id: int) -> Response:
        """Change the label of a key.

        The key itself stays.
        """
        key = self.get_object()
        ssh_keys.rename(self.actor, key, self.validated(partial=True).get("label", key.label))
        return Response(self.get_serializer(key).data)

    @operation(WRITE, ANYONE)
    def destroy(self, request: Request, id: int) -> Response:
        """Delete a key. Instances that have it keep it."""
        ssh_keys.remove(self.actor, self.get_object())
        return Response({})
