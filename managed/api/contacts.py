"""Contacts: the people to notify when a service fails."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from config.api.access import UNRESTRICTED
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet
from managed.api.base import MANAGED, READ, WRITE
from managed.filters import ContactFilterSet
from managed.models import Contact
from managed.serializers.contacts import ContactResource
from managed.services import contacts


class ContactViewSet(ReadOnlyModelViewSet[Actor, Contact]):
    """People whom managed monitoring notifies of problems."""

    serializer_class = ContactResource
    filterset_class = ContactFilterSet
    permission_classes = MANAGED
    queryset = Contact.objects.all()
    required_scopes = READ
    required_grant = UNRESTRICTED

    # the contract requires read_write to retrieve one
    @operation(WRITE, UNRESTRICTED)
    def retrieve(self, request: Request, id: int) -> Response:
        return super().retrieve(request, id=id)

    @operation(WRITE, UNRESTRICTED)
    def create(self, request: Request) -> Response:
        """Add a contact. If a service fails, the contacts of its group are notified."""
        return Response(self.get_serializer(contacts.create(self.actor, self.validated())).data)

    @operation(WRITE, UNRESTRICTED)
    def update(self, request: Request, id: int) -> Response:
        """Change the given fields of a contact. Fields that are omitted keep their values."""
        contact = self.get_object()
        changes: dict[str, Any] = self.validated(partial=True)
        return Response(self.get_serializer(contacts.update(self.actor, contact, changes)).data)

    @operation(WRITE, UNRESTRICTED)
    def destroy(self, request: Request, id: int) -> Response:
        """Delete a contact. The contact is not notified of problems any more."""
        contacts.delete(self.actor, self.get_object())
        return Response({})
