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
        help_text="The entity's number, or for VLANs and the like its label.",
    )
    label = CharField(source="entity_label", help_text="Its name when the ticket was opened.")
    type = PlatformTextField(source="entity_type", help_text="What kind of thing it is.")
    url = PathField(source="entity_url")


class TicketResource(Resource):
    """A question or a problem of the account, with its status."""

    id = IntegerField()
    summary = CharField(min_length=1, max_length=64, help_text="What it is about, in a line.")
    description = CharField(min_length=1, max_length=65000, help_text="What the matter is.")
    status = ChoiceField(
        Ticket.Status.choices,
        help_text=Meanings(
            "How far it is.",
            {
                "new": "Support has not read it yet.",
                "open": "It is worked on.",
                "closed": "It is settled.",
            },
        ),
    )
    opened = DateTimeField(help_text="When it was opened, in UTC.")
    opened_by = CharField(help_text="The user who opened it.")
    updated = DateTimeField(help_text="When it was last changed or replied to, in UTC.")
    updated_by = CharField(allow_null=True, help_text="Who changed it last; null where nobody has.")
    closed = DateTimeField(allow_null=True, help_text="When it was closed, in UTC; null while it is open.")
    closable = BooleanField(help_text="Whether you may close it.")
    attachments = Annotated(
        ListField(child=CharField()), FILES, help_text="The names of the files that were sent along."
    )
    entity = TicketEntity(source="*", allow_null=True, help_text="What it is about; null where nothing was named.")
    gravatar_id = CharField(help_text="The MD5 of the author's mail address, for a picture from Gravatar.")

    class Meta:
        read_only = True


def key(help_text: str) -> IdField:
    return IdField(min_value=1, required=False, help_text=help_text)


class SupportTicketRequest(Resource):
    """The body of a new ticket."""

    summary = CharField(
        min_length=1, max_length=64, help_text="What it is about, in a line of up to 64 characters."
    )
    description = CharField(
        min_length=1, max_length=65000, help_text="What the matter is; up to 65,000 characters."
    )
    managed_issue = BooleanField(
        required=False, help_text="Whether it is about what managed monitoring watches. By default false."
    )
    compute_id = key("The instance that it is about. A ticket is about one thing at most.")
    database_id = key("Refused: this platform has no databases.")
    domain_id = key("The domain that it is about.")
    firewall_id = key("The firewall that it is about.")
    lkecluster_id = key("Refused: this platform has no clusters.")
    longviewclient_id = key("Refused: this platform has no such clients.")
    nodebalancer_id = key("The load balancer that it is about.")
    volume_id = key("The volume that it is about.")
    vlan = CharField(
        max_length=64, required=False, help_text="The label of the VLAN that it is about; `region` goes with it."
    )
    region = CharField(max_length=64, required=False, help_text="The region of the VLAN.")


class ReplyResource(Resource):
    """A reply to a ticket."""

    id = IntegerField(read_only=True)
    description = CharField(min_length=1, max_length=65535, help_text="What was written; up to 65,535 characters.")
    created = DateTimeField(read_only=True, help_text="When it was written, in UTC.")
    created_by = CharField(read_only=True, help_text="Who wrote it.")
    friendly_name = Computed(
        CharField(), lambda username: username or "Skerry", "created_by", help_text="Who wrote it, to be shown."
    )
    from_compute = BooleanField(source="from_staff", read_only=True, help_text="Whether support wrote it.")
    gravatar_id = CharField(
        read_only=True, help_text="The MD5 of the author's mail address, for a picture from Gravatar."
    )


def spec_of(given: dict[str, Any]) -> TicketSpec:
    """Return the spec for the service, from the valid fields of a body."""
    about = {field: given.pop(field) for field in ABOUT if field in given}
    return TicketSpec(given.pop("summary", None), given.pop("description", None), about, **given)
