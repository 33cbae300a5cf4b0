"""Support tickets."""

from django.conf import settings
from django.db.models import QuerySet
from django.http.multipartparser import MultiPartParserError
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.filters.tickets import ReplyFilterSet, TicketFilterSet
from accounts.models import Ticket, TicketReply
from accounts.serializers.tickets import ReplyResource, SupportTicketRequest, TicketResource, spec_of
from accounts.services import tickets
from config.api.access import ACCOUNT_READ, ACCOUNT_WRITE
from config.api.exceptions import WrongMediaType
from config.api.operations import operation
from config.api.views import ListViewSet, ReadOnlyModelViewSet
from config.errors import Invalid
from config.web.headers import media_type

MAX_FORM_BYTES = 64 * 1024
"""The bytes of a form in addition to its file, at most."""


class TicketViewSet(ReadOnlyModelViewSet[Actor, Ticket]):
    """Support tickets of the account."""

    serializer_class = TicketResource
    filterset_class = TicketFilterSet
    queryset = Ticket.objects.all()
    required_scopes = READ
    required_grant = ACCOUNT_READ

    @operation(WRITE, ACCOUNT_WRITE, request=SupportTicketRequest, throttle_scope="ticket_create")
    def create(self, request: Request) -> Response:
        """Open a ticket. It may be about one object of the account, which the body names."""
        given = self.body()
        ticket = tickets.open_ticket(self.actor, spec_of(given), given.problems)
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

        The file is the field `file` of a form. The operator sets its maximum size.
        """
        ticket = self.get_object()
        if media_type(request.content_type) != "multipart/form-data":
            raise WrongMediaType(request.content_type, "multipart/form-data")
        tickets.attach(self.actor, ticket, self._file())
        return Response({})

    def _file(self) -> tickets.Upload | None:
        """Return the file in the form, or None. A form that is too large is not read."""
        if int(self.request.META.get("CONTENT_LENGTH") or 0) > settings.ATTACHMENT_LIMIT + MAX_FORM_BYTES:
            raise Invalid(tickets.too_large(), "file")
        try:
            return self.request._request.FILES.get("file")
        except MultiPartParserError as error:
            raise Invalid("The form could not be read.") from error


class ReplyViewSet(ListViewSet[Actor, TicketReply]):
    """The replies to a ticket, the oldest first."""

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

        The people who look after the ticket are notified.
        """
        ticket, given = self.get_parent(), self.body()
        made = tickets.reply(self.actor, ticket, given.get("description"), given.problems)
        return Response(self.get_serializer(made).data)
