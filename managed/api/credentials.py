"""Credentials that staff may use on the account's computes, and the SSH key with which staff log in."""

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from config.api.access import UNRESTRICTED
from config.api.operations import operation
from config.api.views import GenericViewSet, ReadOnlyModelViewSet
from managed.api.base import MANAGED, READ, WRITE
from managed.filters import CredentialFilterSet
from managed.models import Credential
from managed.serializers.credentials import CredentialResource, CredentialSecret, KeyResource, NewCredential
from managed.services import credentials, keys
from managed.services.credentials import Secret


class CredentialViewSet(ReadOnlyModelViewSet[Actor, Credential]):
    """Usernames and passwords with which staff repair services."""

    serializer_class = CredentialResource
    filterset_class = CredentialFilterSet
    permission_classes = MANAGED
    queryset = Credential.objects.all()
    required_scopes = READ
    required_grant = UNRESTRICTED

    # the contract requires read_write to retrieve one
    @operation(WRITE, UNRESTRICTED)
    def retrieve(self, request: Request, id: int) -> Response:
        return super().retrieve(request, id=id)

    @operation(WRITE, UNRESTRICTED, request=NewCredential)
    def create(self, request: Request) -> Response:
        """Add a credential. It is stored encrypted, and only staff can read it."""
        given = self.body()
        secret = Secret(given.get("username", ""), given.get("password", ""))
        made = credentials.create(self.actor, given.get("label"), secret, given.problems)
        return Response(self.get_serializer(made).data)

    @operation(WRITE, UNRESTRICTED)
    def update(self, request: Request, id: int) -> Response:
        """Change the label of a credential. `POST …/update` changes its content."""
        credential, given = self.get_object(), self.validated(partial=True)
        if "label" in given:
            credential = credentials.rename(self.actor, credential, given["label"])
        return Response(self.get_serializer(credential).data)

    @action(detail=True, methods=["post"], url_path="update")
    @operation(WRITE, UNRESTRICTED, request=CredentialSecret, noun="secret")
    def replace(self, request: Request, id: int) -> Response:
        """Replace the password of a credential, and its username if one is given. The old values are deleted."""
        credential, given = self.get_object(), self.validated()
        credentials.replace(self.actor, credential, given["password"], given.get("username"))
        return Response({})

    @operation(WRITE, UNRESTRICTED)
    def destroy(self, request: Request, id: int) -> Response:
        """Delete a credential. Staff can no longer use it.

        Services that refer to the credential lose the reference. This cannot be undone.
        """
        credentials.revoke(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, UNRESTRICTED)
    def revoke(self, request: Request, id: int) -> Response:
        """Delete a credential. Staff can no longer use it.

        It does the same as `DELETE`. This cannot be undone.
        """
        return self.destroy(request, id)


class KeyViewSet(GenericViewSet[Actor, Credential]):
    """The SSH key of managed."""

    serializer_class = KeyResource
    permission_classes = MANAGED
    queryset = Credential.objects.all()

    @operation(READ, UNRESTRICTED, lane="writes")  # the first call creates the key
    def retrieve(self, request: Request) -> Response:
        """The public key by which staff log in to computes that have it. The first call creates it."""
        return Response({"ssh_key": keys.public_key(self.actor)})
