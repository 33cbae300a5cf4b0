"""Support tickets."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from django.http.multipartparser import MultiPartParserError
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, IntegerField, ListField

from accounts.actors import Actor
from accounts.api.events import NumberOrSlug, number_or_slug
from accounts.api.scopes import READ, WRITE
from accounts.models import Ticket, TicketAttachment, TicketReply
from accounts.services import tickets
from accounts.services.tickets import ABOUT, TicketSpec
from config.api.access import ACCOUNT_READ, ACCOUNT_WRITE
from config.api.fields import Annotated, Computed
from config.api.paths import BIGGEST, PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet
from config.errors import Invalid

FILES = ArraySubquery(TicketAttachment.objects.filter(ticket=OuterRef("pk")).order_by("pk").values("name"))


FORM = 64 * 1024
"""Bytes that a form may have around its file."""


class TicketEntity(Resource):
    id = Computed(NumberOrSlug(), number_or_slug, "entity_id")
    label = CharField(source="entity_label")
    type = CharField(source="entity_type")
    url = CharField(source="entity_url")


class TicketResource(Resource):
    """A question or problem, and who looks after it."""

    id = IntegerField()
    summary = CharField(min_length=1, max_length=64)
    description = CharField(min_length=1, max_length=65000)
    status = ChoiceField(Ticket.Status.choices)
    opened = DateTimeField()
    opened_by = CharField()
    updated = DateTimeField()
    updated_by = CharField(allow_null=True)
    closed = DateTimeField(allow_null=True)
    closable = BooleanField(help_text="Whether you may close it.")
    attachments = Annotated(ListField(child=CharField()), FILES, help_text="The names of the files sent along.")
    entity = TicketEntity(source="*", allow_null=True, help_text="What it is about.")
    gravatar_id = CharField()

    class Meta:
        read_only = True
        filterable = ("closed", "opened", "updated")


def key() -> IntegerField:
    return IntegerField(min_value=1, max_value=BIGGEST, required=False)


class SupportTicketRequest(Resource):
    summary = CharField(min_length=1, max_length=64)
    description = CharField(min_length=1, max_length=65000)
    managed_issue = BooleanField(required=False)
    compute_id = key()
    database_id = key()
    domain_id = key()
    firewall_id = key()
    lkecluster_id = key()
    longviewclient_id = key()
    nodebalancer_id = key()
    volume_id = key()
    vlan = CharField(max_length=64, required=False, help_text="The label of a VLAN; `region` goes with it.")
    region = CharField(max_length=64, required=False)


class ReplyResource(Resource):
    """What was written later."""

    id = IntegerField(read_only=True)
    description = CharField(min_length=1, max_length=65535)
    created = DateTimeField(read_only=True)
    created_by = CharField(read_only=True)
    from_compute = BooleanField(source="from_staff", read_only=True, help_text="Whether support wrote it.")
    gravatar_id = CharField(read_only=True)


class TicketViewSet(ResourceViewSet[Actor, Ticket]):
    """Support tickets of the account."""

    resource = TicketResource
    requests = {"create": SupportTicketRequest}
    throttle = {"create": "ticket_create"}
    scopes = {"list": READ, "retrieve": READ, "create": WRITE, "close": WRITE, "attach": WRITE}
    grants = {
        "list": ACCOUNT_READ, "retrieve": ACCOUNT_READ,
        "create": ACCOUNT_WRITE, "close": ACCOUNT_WRITE, "attach": ACCOUNT_WRITE,
    }  # fmt: skip

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Ticket]:
        return Ticket.objects.visible_to(actor)

    def create(self, request: Request) -> JSONResponse:
        """Open a ticket."""
        given: dict[str, Any] = self.validated()
        about = {field: given.pop(field) for field in ABOUT if field in given}
        ticket = tickets.open_ticket(self.actor, TicketSpec(about=about, **given))
        return self.answer(self.resource.shape().select(Ticket.objects.filter(pk=ticket.pk)).get())

    def close(self, request: Request, id: int) -> JSONResponse:
        """Close a ticket."""
        tickets.close(self.actor, self.get_entity())
        return JSONResponse()

    @extend_schema(
        request={
            "multipart/form-data": {
                "type": "object",
                "required": ["file"],
                "properties": {"file": {"type": "string", "format": "binary"}},
            }
        }
    )
    def attach(self, request: Request, id: int) -> JSONResponse:
        """Send a file along with a ticket: a picture, a PDF or a text."""
        ticket = self.get_entity()
        if request.content_type.partition(";")[0].strip().lower() != "multipart/form-data":
            raise UnsupportedMediaType(request.content_type)
        tickets.attach(self.actor, ticket, self._file())
        return JSONResponse()

    def _file(self) -> tickets.Upload:
        """The file in the form, which is not read where it is too large anyway."""
        if int(self.request.META.get("CONTENT_LENGTH") or 0) > settings.ATTACHMENT_LIMIT + FORM:
            raise Invalid(tickets.too_large(), "file")
        try:
            upload = self.request._request.FILES.get("file")
        except MultiPartParserError as error:
            raise Invalid("The form could not be read.") from error
        if upload is None:
            raise Invalid("file is required", "file")
        return upload


class ReplyViewSet(ResourceViewSet[Actor, TicketReply]):
    """What was written to a ticket, the oldest first."""

    resource = ReplyResource
    scopes = {"list": READ, "create": WRITE}
    grants = {"list": ACCOUNT_READ, "create": ACCOUNT_WRITE}

    @staticmethod
    def parent(actor: Actor, path: PathParameters) -> QuerySet[Ticket]:
        return Ticket.objects.visible_to(actor).filter(pk=path["ticket_id"])

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[TicketReply]:
        return TicketReply.objects.filter(ticket__in=ReplyViewSet.parent(actor, path).values("pk"))

    def create(self, request: Request, ticket_id: int) -> JSONResponse:
        """Reply to a ticket."""
        ticket = self.get_parent()
        return self.answer(tickets.reply(self.actor, ticket, self.validated()["description"]))
