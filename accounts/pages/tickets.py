"""Support tickets: the list, a new ticket, and a ticket with its replies and files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.generic import TemplateView

from accounts.actors import Actor
from accounts.display.tickets import entries_of
from accounts.entities import EntityKind, kind_of
from accounts.filters.tickets import TicketListFilterSet
from accounts.models import Ticket
from accounts.pages.account_objects import AccountObjectPage
from accounts.pages.entity_links import addresses_of, key_of
from accounts.pages.objects import NewObjectForm, NewObjectPage, ObjectFormPage, ObjectListPage
from accounts.serializers.tickets import ReplyResource, SupportTicketRequest, spec_of
from accounts.services import tickets
from config.display.integers import is_integer
from config.pages.forms import BodyForm, ChoiceField, TextField
from config.pages.grants import ACCOUNT_READ, ACCOUNT_WRITE, granted
from config.pages.lists import Column, Row, Verb
from config.pages.navigation import NOUNS
from config.pages.views import ServiceFormView, VerbView
from config.web.downloads import POLICY, as_download

MAX_OBJECTS = 200
"""The maximum number of objects of each kind that the form for a new ticket lists."""
KINDS = ("compute", "volume", "domain", "nodebalancer", "firewall", "vlan")
"""The kinds of object that a ticket can be about, in the order of the form."""
FIELDS = {kind: field for field, kind in tickets.ABOUT.items()}
TEMPLATE = "accounts/ticket.html"
PREFILLED = ("summary", "description", "about")
"""The fields that a link to the form can fill."""


@dataclass(frozen=True, slots=True)
class TicketRow(Row):
    """A ticket, with the address of the page of its object. Empty without such a page that the user may see."""

    address: str = ""


class TicketsView(ObjectListPage):
    """``/home/tickets``: the tickets of the account, the newest first."""

    model = Ticket
    noun = "tickets"
    grant = ACCOUNT_READ
    new = "ticket-new"
    template_name = "accounts/tickets.html"
    filterset_class = TicketListFilterSet
    newest_first = True
    columns = (
        Column("Number", "id"),
        Column("Summary", "summary"),
        Column("Status", "status"),
        Column("About"),
        Column("Opened", "opened"),
        Column("Updated", "updated"),
    )

    def verbs_of(self, found: Ticket) -> tuple[Verb, ...]:
        return ()

    def writable(self, shown: list[Ticket]) -> list[int]:
        return []

    def rows(self, shown: list[Ticket]) -> list[Row]:
        links = links_of(self.actor, shown)
        return [TicketRow(ticket, address=links.get(ticket.pk, "")) for ticket in shown]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        may_open = granted(self.actor, ACCOUNT_WRITE)
        return super().get_context_data(**kwargs) | {"may_create": may_open}


class TicketForm(NewObjectForm):
    body = SupportTicketRequest
    summary = TextField(label="Summary", help_text="One line of up to 64 characters.")
    description = TextField(
        label="Description", help_text="What you did, what happened, and what you expected.",
        widget=forms.Textarea(attrs={"rows": 10}),
    )  # fmt: skip
    about = ChoiceField(label="About")

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.offer("about", [("", "nothing in particular"), *objects_of(self.actor)])

    def as_body(self) -> dict[str, Any]:
        body = super().as_body()
        kind, _, key = body.pop("about", "").partition(":")
        if kind == "vlan":
            region, _, label = key.partition("/")
            return {**body, "region": region, "vlan": label}
        if not kind:
            return body
        # the ids of other kinds are no ids of instances either, so the form refuses them
        return {**body, FIELDS.get(kind, "compute_id"): int(key) if is_integer(key) else key or kind}


class NewTicketView(NewObjectPage):
    """``/home/tickets/new``: links to it can fill `PREFILLED` fields, such as ``?summary=Higher+quotas``."""

    noun = "tickets"
    grant = ACCOUNT_WRITE
    operations = frozenset({"support_tickets_create"})
    throttle_scope = "ticket_create"
    form_class = TicketForm
    heading = "Open a ticket"
    introduction = "Support reads the ticket and answers on its page. Do not send passwords or keys."
    verb = "Open ticket"
    renamed = {**dict.fromkeys(FIELDS.values(), "about"), "vlan": "about", "region": "about"}
    ticket: Ticket

    def get_initial(self) -> dict[str, Any]:
        given = self.request.GET
        return {name: given[name] for name in PREFILLED if name in given}

    def perform(self, form: TicketForm) -> str:
        self.ticket = tickets.open_ticket(self.actor, spec_of(form.given), form.given.problems)
        return f"Ticket {self.ticket.pk} is open."

    def get_success_url(self) -> str:
        return reverse("ticket", args=[self.ticket.pk])


class ReplyForm(BodyForm):
    body = ReplyResource
    description = TextField(label="Your reply", widget=forms.Textarea(attrs={"rows": 6}))


class TicketPage(AccountObjectPage):
    """A page of one ticket. Every user who sees tickets sees all of the account."""

    model = Ticket
    noun = "tickets"
    home = "ticket"
    parameter = "pk"
    grant = write_grant = ACCOUNT_WRITE


class ConversationPage(TicketPage):
    """Base of the page of a ticket: the conversation, the oldest first."""

    tab = "ticket"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        ticket = self.object
        return super().get_context_data(
            about_address=links_of(self.actor, [ticket]).get(ticket.pk, ""),
            entries=list(entries_of(ticket)),
            is_open=ticket.status != Ticket.Status.CLOSED,
            **kwargs,
        )


class TicketView(ConversationPage, TemplateView):
    """``/home/tickets/<id>``: the conversation, and the form for a reply."""

    grant = ACCOUNT_READ
    template_name = TEMPLATE
    extra_context = {"form": ReplyForm()}


class ReplyView(ConversationPage, ServiceFormView):
    """``/home/tickets/<id>/reply``: the same page, with the reasons at the form."""

    template_name = TEMPLATE
    form_class = ReplyForm
    operations = frozenset({"support_tickets_replies_create"})

    def perform(self, form: ReplyForm) -> str:
        tickets.reply(self.actor, self.object, form.given.get("description"), form.given.problems)
        return "Your reply was sent."


class AttachForm(forms.Form):
    """A file to attach. The service checks it."""

    file = forms.FileField(required=False, allow_empty_file=True, label="File")


class AttachView(TicketPage, ObjectFormPage):
    """``/home/tickets/<id>/files/new``."""

    operations = frozenset({"support_tickets_attachments_create"})
    form_class = AttachForm
    template_name = "accounts/ticket_file.html"
    verb = "Attach file"
    heading = "Attach a file to ticket {page.object.pk}"
    introduction = "A file of at most {page.file_limit}: {page.suffixes}."
    file_limit = property(lambda self: f"{settings.ATTACHMENT_LIMIT // 1024**2} MB")
    suffixes = ", ".join(sorted(suffix[1:] for suffix in tickets.TYPES))

    def perform(self, form: AttachForm) -> str:
        kept = tickets.attach(self.actor, self.object, form.cleaned_data["file"])
        return f"The file {kept.name} was attached."


class CloseView(TicketPage, VerbView):
    """``/home/tickets/<id>/close``."""

    operations = frozenset({"support_tickets_close"})

    def perform(self) -> str:
        tickets.close(self.actor, self.object)
        return "The ticket is closed."


class FileView(TicketPage):
    """``/home/tickets/<id>/files/<key>``: an attached file, which a browser stores and never shows."""

    grant = ACCOUNT_READ
    policy = POLICY

    def get(self, request: HttpRequest, pk: int, ticket_file: UUID) -> HttpResponseBase:
        kept = get_object_or_404(self.object.attachments, key=ticket_file)
        try:
            return as_download(tickets.path_of(kept).open("rb"), kept.name, kept.media_type)
        except FileNotFoundError as error:
            raise Http404 from error


def links_of(actor: Actor, shown: list[Ticket]) -> dict[int, str]:
    """Return the addresses of the pages about the tickets' objects, by the keys of the tickets.

    VLANs have no pages, so the link leads to their list. One query for each kind of object. Pages show restricted
    users only the objects with an address.
    """
    keys = {each.pk: key_of(each.entity_type, each.entity_id, each.entity_url) for each in shown}
    found = addresses_of(actor, keys.values())
    links = {pk: found[key] for pk, key in keys.items() if key in found}
    if vlans := {each.pk: each.entity_id for each in shown if each.entity_type == "vlan"}:
        rows: Any = kind_of("vlan").model._default_manager
        seen = set(rows.visible_to(actor).filter(label__in=vlans.values()).values_list("label", flat=True))
        links |= {pk: NOUNS["vlans"].address for pk, label in vlans.items() if label in seen}
    return links


def objects_of(actor: Actor) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the kinds with the objects that the actor sees, as grouped choices. One query for each kind."""
    for kind in map(kind_of, KINDS):
        heading = NOUNS[kind.noun].label
        choices = list(_choices_of(actor, kind))
        if choices:
            yield heading if len(choices) < MAX_OBJECTS else f"{heading}, the first {MAX_OBJECTS}", choices


def _choices_of(actor: Actor, kind: EntityKind) -> Iterator[tuple[str, str]]:
    visible = kind.model._default_manager.visible_to(actor)  # type: ignore[attr-defined] # of every registered model
    if kind.name == "vlan":
        for label, region in visible.order_by("label").values_list("label", "region_id")[:MAX_OBJECTS]:
            yield f"vlan:{region}/{label}", f"{label}, {region}"
        return
    for key, label in visible.order_by("label").values_list(kind.key, "label")[:MAX_OBJECTS]:
        yield f"{kind.name}:{key}", label
