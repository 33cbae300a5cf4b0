"""Serializers of support tickets and replies."""

from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, IntegerField, ListField

from accounts.models import Ticket, TicketAttachment
from accounts.serializers.events import NumberOrSlug, number_or_slug
from accounts.services.tickets import ABOUT, TicketSpec
from config.api.common_fields import IdField
from config.api.fields import Annotated, Computed, PathField, PlatformTextField
from config.api.meanings import Meanings
from config.api.serializers import Resource

FILES = ArraySubquery(TicketAttachment.objects.filter(ticket=OuterRef("pk")).order_by("pk").values("name"))


class TicketEntity(Resource):
    """The entity that a ticket is about."""

    id = Computed(
        NumberOrSlug(),
        number_or_slug,
        "entity_id",
        help_text="The entity's number, or its label for VLANs.",
    )
    label = CharField(source="entity_label", help_text="The name of the entity when the ticket was opened.")
    type = PlatformTextField(source="entity_type", help_text="The kind of the entity.")
    url = PathField(source="entity_url")


class TicketResource(Resource):
    """A question or a problem of the account, with its status."""

    id = IntegerField()
    summary = CharField(min_length=1, max_length=64, help_text="The summary of the ticket, in one line.")
    description = CharField(min_length=1, max_length=65000, help_text="The description of the problem.")
    status = ChoiceField(
        Ticket.Status.choices,
        help_text=Meanings(
            "The status of the ticket.",
            {
                "new": "Support has not read the ticket yet.",
                "open": "Support works on the ticket.",
                "closed": "The ticket is closed.",
            },
        ),
    )
    opened = DateTimeField(help_text="The time at which the ticket was opened, in UTC.")
    opened_by = CharField(help_text="The user who opened the ticket.")
    updated = DateTimeField(help_text="The time of the last change or reply, in UTC.")
    updated_by = CharField(
        allow_null=True, help_text="The user who made the last change. Null if there was no change."
    )
    closed = DateTimeField(
        allow_null=True, help_text="The time at which the ticket was closed, in UTC. Null while the ticket is open."
    )
    closable = BooleanField(help_text="Whether you may close the ticket.")
    attachments = Annotated(ListField(child=CharField()), FILES, help_text="The names of the attachments.")
    entity = TicketEntity(
        source="*", allow_null=True, help_text="The entity that the ticket is about. Null if there is none."
    )
    gravatar_id = CharField(help_text="The MD5 of the author's mail address, for a picture from Gravatar.")

    class Meta:
        read_only = True


def key(help_text: str) -> IdField:
    return IdField(min_value=1, required=False, help_text=help_text)


class SupportTicketRequest(Resource):
    """The body of a new ticket."""

    summary = CharField(
        min_length=1, max_length=64, help_text="The summary of the ticket, in one line of up to 64 characters."
    )
    description = CharField(
        min_length=1, max_length=65000, help_text="The description of the problem, up to 65,000 characters."
    )
    managed_issue = BooleanField(
        required=False, help_text="Whether the problem concerns a service of managed monitoring. By default false."
    )
    compute_id = key("The instance that the ticket is about. A ticket is about one entity at most.")
    database_id = key("Refused: this platform has no databases.")
    domain_id = key("The domain that the ticket is about.")
    firewall_id = key("The firewall that the ticket is about.")
    lkecluster_id = key("Refused: this platform has no clusters.")
    longviewclient_id = key("Refused: this platform has no such clients.")
    nodebalancer_id = key("The load balancer that the ticket is about.")
    volume_id = key("The volume that the ticket is about.")
    vlan = CharField(
        max_length=64,
        required=False,
        help_text="The label of the VLAN that the ticket is about. `region` is required with it.",
    )
    region = CharField(max_length=64, required=False, help_text="The region of the VLAN.")


class ReplyResource(Resource):
    """A reply to a ticket."""

    id = IntegerField(read_only=True)
    description = CharField(
        min_length=1, max_length=65535, help_text="The text of the reply, up to 65,535 characters."
    )
    created = DateTimeField(read_only=True, help_text="The time of the reply, in UTC.")
    created_by = CharField(read_only=True, help_text="The username of the author.")
    friendly_name = Computed(
        CharField(),
        lambda username: username or "Skerry",
        "created_by",
        help_text="The name of the author, for display.",
    )
    from_compute = BooleanField(source="from_staff", read_only=True, help_text="Whether support wrote the reply.")
    gravatar_id = CharField(
        read_only=True, help_text="The MD5 of the author's mail address, for a picture from Gravatar."
    )


def spec_of(given: dict[str, Any]) -> TicketSpec:
    """Return the spec for the service, from the valid fields of a body."""
    about = {field: given.pop(field) for field in ABOUT if field in given}
    return TicketSpec(given.pop("summary", None), given.pop("description", None), about, **given)
