"""Contacts: whom to tell when a service fails."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.serializers import CharField, DateTimeField, EmailField, IntegerField

from accounts.actors import Actor
from config.api.access import UNRESTRICTED
from config.api.common_fields import printable
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from managed.api.base import READ, WRITE, ManagedViewSet
from managed.filters import ContactFilterSet
from managed.models import Contact
from managed.services import contacts


def phone(source: str, help_text: str) -> CharField:
    return CharField(
        source=source, max_length=32, required=False, allow_blank=True, allow_null=True, help_text=help_text
    )


class Phone(Resource):
    """The telephone numbers of a contact."""

    primary = phone("phone_primary", "The number to ring first; null or up to 32 characters.")
    secondary = phone("phone_secondary", "The number to ring next; null or up to 32 characters.")


class ContactResource(Resource):
    """Somebody whom the account wants told."""

    id = IntegerField(read_only=True)
    name = CharField(
        min_length=2,
        max_length=64,
        validators=[printable("name")],
        help_text="Who it is: 2 to 64 characters.",
    )
    email = EmailField(max_length=128, help_text="Where mails about problems go.")
    phone = Phone(source="*", required=False, help_text="The telephone numbers.")
    group = CharField(
        min_length=2,
        max_length=50,
        required=False,
        allow_null=True,
        help_text="The group that services consult; null for none.",
    )
    updated = DateTimeField(read_only=True)


class ContactViewSet(ManagedViewSet[Contact]):
    """Contacts of managed."""

    resource = ContactResource
    filterset_class = ContactFilterSet
    # the contract asks for read_write to retrieve one
    scopes = {"list": READ, "retrieve": WRITE, "create": WRITE, "update": WRITE, "destroy": WRITE}
    grants = dict.fromkeys(scopes, UNRESTRICTED)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Contact]:
        return Contact.objects.visible_to(actor)

    def create(self, request: Request) -> JSONResponse:
        """Add a contact.

        Contacts of a group are told of problems of the services that consult it.
        """
        return self.answer(contacts.create(self.actor, self.validated()))

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change what is given of a contact.

        What is not named stays.
        """
        contact = self.get_entity()
        changes: dict[str, Any] = self.validated(partial=True)
        return self.answer(contacts.update(self.actor, contact, changes))

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Delete a contact.

        The contact is told of no more problems.
        """
        contacts.delete(self.actor, self.get_entity())
        return JSONResponse()
