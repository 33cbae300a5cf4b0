"""Support tickets."""

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from django.http.multipartparser import MultiPartParserError
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, IntegerField, ListField

from accounts.actors import Actor
from accounts.api.events import NumberOrSlug, number_or_slug
from accounts.api.scopes import READ, WRITE
from accounts.filters.tickets import ReplyFilterSet, TicketFilterSet
from accounts.models import Ticket, TicketAttachment, TicketReply
from accounts.services import tickets
from accounts.services.tickets import ABOUT, TicketSpec
from config.api.access import ACCOUNT_READ, ACCOUNT_WRITE
from config.api.common_fields import IdField
from config.api.exceptions import WrongMediaType
from config.api.fields import Annotated, Computed
from config.api.meanings import Meanings
from config.api.operations import operation
from config.api.serializers import Resource
from config.api.views import ListViewSet, ReadOnlyModelViewSet
from config.errors import Invalid

FILES = ArraySubquery(TicketAttachment.objects.filter(ticket=OuterRef("pk")).order_by("pk").values("name"))


FORM = 64 * 1024
"""Bytes that a form may have around its file."""


class TicketEntity(Resource):
    """What a ticket is about."""

    id = Computed(
        NumberOrSlug(),
        number_or_slug,
        "entity_id",
        help_text="The entity's number, or for VLANs and the like its label.",
    )
    label = CharField(source="entity_label", help_text="Its name when the ticket was opened.")
    type = CharField(source="entity_type", help_text="What kind of thing it is.")
    url = CharField(source="entity_url")


class TicketResource(Resource):
    """A question or problem, and who looks after it."""

    id = IntegerField()
    summary = CharField(min_length=1, max_length=64, help_text="What it is about, in a line.")
    description = CharField(min_length=1, max_length=65000, help_text="What the matter is.")
    status = ChoiceField(
        Ticket.Status.choices,
        help_text=Meanings(
            "How far it is.",
            {
                "new": "Nobody has looked at it yet.",
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
    """What was written later."""

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


class TicketViewSet(ReadOnlyModelViewSet[Actor, Ticket]):
    """Support tickets of the account."""

    serializer_class = TicketResource
    filterset_class = TicketFilterSet
    queryset = Ticket.objects.all()
    required_scopes = READ
    required_grant = ACCOUNT_READ

    @operation(WRITE, ACCOUNT_WRITE, request=SupportTicketRequest, throttle_scope="ticket_create")
    def create(self, request: Request) -> Response:
        """Open a ticket.

        It may be about one thing of the account, which the body names.
        """
        given = self.body()
        about = {field: given.pop(field) for field in ABOUT if field in given}
        spec = TicketSpec(given.pop("summary", None), given.pop("description", None), about, **given)
        ticket = tickets.open_ticket(self.actor, spec, given.problems)
        made = self.serializer_class.select(Ticket.objects.filter(pk=ticket.pk)).get()
        return Response(self.get_serializer(made).data)

    @action(detail=True, methods=["post"])
    @operation(WRITE, ACCOUNT_WRITE)
    def close(self, request: Request, id: int) -> Response:
        """Close a ticket.

        Only a ticket that is `closable`.
        """
        tickets.close(self.actor, self.get_object())
        return Response({})

    @extend_schema(
        request={
            "multipart/form-data": {
                "type": "object",
                "required": ["file"],
                "properties": {"file": {"type": "string", "format": "binary", "description": "The file."}},
            }
        }
    )
    @action(detail=True, methods=["post"], url_path="attachments")
    @operation(WRITE, ACCOUNT_WRITE)
    def attach(self, request: Request, id: int) -> Response:
        """Send a file along with a ticket: a picture, a PDF or a text.

        As the field `file` of a form. How large it may be is the operator's choice.
        """
        ticket = self.get_object()
        if request.content_type.partition(";")[0].strip().lower() != "multipart/form-data":
            raise WrongMediaType(request.content_type, "multipart/form-data")
        tickets.attach(self.actor, ticket, self._file())
        return Response({})

    def _file(self) -> tickets.Upload | None:
        """The file in the form, if there is one. The form is not read where it is too large anyway."""
        if int(self.request.META.get("CONTENT_LENGTH") or 0) > settings.ATTACHMENT_LIMIT + FORM:
            raise Invalid(tickets.too_large(), "file")
        try:
            return self.request._request.FILES.get("file")
        except MultiPartParserError as error:
            raise Invalid("The form could not be read.") from error


class ReplyViewSet(ListViewSet[Actor, TicketReply]):
    """What was written to a ticket, the oldest first."""

    serializer_class = ReplyResource
    filterset_class = ReplyFilterSet
    required_scopes = READ
    required_grant = ACCOUNT_READ

    def get_parent_queryset(self) -> QuerySet[Ticket]:
        return Ticket.objects.visible_to(self.viewer).filter(pk=self.kwargs["ticket_id"])

    def get_queryset(self) -> QuerySet[TicketReply]:
        return TicketReply.objects.filter(ticket__in=self.get_parent_queryset().values("pk"))

    @operation(WRITE, ACCOUNT_WRITE)
    def create(self, request: Request, ticket_id: int) -> Response:
        """Reply to a ticket.

        Those who look after the ticket are told.
        """
        ticket, given = self.get_parent(), self.body()
        made = tickets.reply(self.actor, ticket, given.get("description"), given.problems)
        return Response(self.get_serializer(made).data)
