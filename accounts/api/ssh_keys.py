"""The SSH keys on the acting user's profile."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.filters.ssh_keys import SSHKeyFilterSet
from accounts.models import SSHKey
from accounts.serializers.ssh_keys import SSHKeyLabel, SSHKeyResource
from accounts.services import ssh_keys
from config.api.access import ANYONE
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet


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
        """Add a public key. Its format must be valid."""
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
        """Delete a key. Instances that have the key keep it."""
        ssh_keys.remove(self.actor, self.get_object())
        return Response({})
