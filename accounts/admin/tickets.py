"""Support tickets: the list of tickets that wait for staff, the conversation, and replying."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Case, Count, F, Max, Min, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Least
from django.http import Http404, HttpRequest, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import now

from accounts.admin.filters import AccountFilter
from accounts.admin.panels import account_panel, entity_link, staff
from accounts.display.tickets import Entry, entries_of
from accounts.models import Account, Ticket, TicketAttachment, TicketReply, User
from accounts.services import tickets
from config.admin.attention import Notice, watcher
from config.admin.pages import Panel, ReadOnlyPage, Row
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, link, list_of, moment, page_of, span, words
from config.admin.verbs import Verb
from config.display.integers import is_id
from config.display.statuses import BAD, BUSY, QUIET, pill, status_pill
from config.web.downloads import as_download

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

TOO_LONG = timedelta(days=1)
"""The time after which waiting for support counts as too long."""


def with_waiting(rows: QuerySet[Ticket]) -> QuerySet[Ticket]:
    """Add `waiting`: since when the customer waits for staff. None if staff wrote last or the ticket is closed.

    Attachments count as replies: some customers answer only with a screenshot.
    """
    replies = TicketReply.objects.filter(ticket=OuterRef("pk")).order_by().values("ticket")
    files = TicketAttachment.objects.filter(ticket=OuterRef("pk")).order_by().values("ticket")
    ours = Subquery(replies.filter(from_staff=True).annotate(at=Max("created")).values("at"))
    theirs = replies.filter(from_staff=False, created__gt=OuterRef("answered")).annotate(at=Min("created"))
    sent = files.filter(created__gt=OuterRef("answered")).annotate(at=Min("created"))
    return rows.annotate(answered=ours).annotate(
        waiting=Case(
            When(status=Ticket.Status.CLOSED, then=None),
            When(answered=None, then=F("opened")),
            default=Least(Subquery(theirs.values("at")), Subquery(sent.values("at"))),
        )
    )


class StateFilter(admin.SimpleListFilter):
    title = "progress"
    parameter_name = "now"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("waiting", "Waits for support"), ("answered", "Waits for the customer"), ("live", "Not closed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Ticket]) -> QuerySet[Ticket]:
        live = ~Q(status=Ticket.Status.CLOSED)
        wanted = {
            "waiting": live & Q(waiting__isnull=False), "answered": live & Q(waiting=None), "live": live,
        }  # fmt: skip
        return queryset.filter(wanted.get(self.value() or "", Q()))


class ReplyForm(forms.Form):
    """A reply of support to the customer."""

    description = forms.CharField(
        label="Reply to the customer",
        max_length=65535,
        widget=forms.Textarea(attrs={"rows": 8, "class": "vLargeTextField"}),
    )
    close = forms.BooleanField(
        label="Close the ticket with this reply",
        required=False,
        help_text="If ticked, nobody can reply any more, and the ticket cannot be opened again.",
    )

    def __init__(self, ticket: Ticket, data: QueryDict | None = None):
        super().__init__(data)
        recipient = tickets.mail_recipient(ticket)
        self.fields["description"].help_text = (
            f"{recipient.username} gets a mail at {recipient.email}." if recipient else NOBODY_MAILED
        )


NOBODY_MAILED = (
    "Nobody gets a mail: the user who opened the ticket is deleted, suspended, or wants no mails. The account can"
    " read"
    " the reply in the API."
)


def reply(request: HttpRequest, ticket: Ticket, given: dict[str, Any]) -> str:
    actor, recipient = staff(request, ticket.account_id), tickets.mail_recipient(ticket)
    tickets.reply(actor, ticket, given["description"])
    if given["close"]:
        tickets.close(actor, ticket)
    message = f"sent, and {recipient.username} gets a mail" if recipient else "sent, and nobody gets a mail"
    return f"{message}; the ticket is {'closed' if given['close'] else 'open'}."


def close(request: HttpRequest, ticket: Ticket) -> str:
    tickets.close(staff(request, ticket.account_id), ticket)
    return "closed."


def keep_open(request: HttpRequest, ticket: Ticket) -> str:
    tickets.set_closable(staff(request, ticket.account_id), ticket, False)
    return "only support can close it now."


def let_close(request: HttpRequest, ticket: Ticket) -> str:
    tickets.set_closable(staff(request, ticket.account_id), ticket, True)
    return "the customer can close it now."


def is_live(ticket: Ticket) -> bool:
    return ticket.status != Ticket.Status.CLOSED


class Waiting(TypedDict):
    waiting: datetime | None


@admin.register(Ticket)
class TicketPage(ReadOnlyPage):
    """The page of a ticket.

    Its texts never change. The list of tickets that wait for staff starts with the longest waiting.
    """

    task = Task.CUSTOMERS
    list_display = ("id", "subject", "state", "waits", "account", "about", "age")
    list_display_links = ("id", "subject")
    list_select_related = ("account",)
    list_filter = (StateFilter, AccountFilter, "status", "managed_issue")
    born = "opened"
    link_filters = ("account__id__exact",)
    search_fields = ("=pk", "^summary", "opened_by", "^entity_label")
    search_help_text = (
        "Ticket id, who opened it, or how a summary, an entity's label, a company or its email begins."
    )
    sortable_by = ()
    fieldsets = (
        (None, {"fields": (
            ("state", "waits"), ("account", "about"), ("opened_at", "updated_at"), ("may_close", "closed_at"),
            "of_managed",
        )}),
    )  # fmt: skip
    verbs = (
        Verb("reply", "Reply", reply, form=ReplyForm, open=True, offered=is_live),
        Verb(
            "close", "Close ticket", close, offered=is_live,
            confirm="Nobody can reply to a closed ticket, and it cannot be opened again.",
        ),
        Verb("keep-open", "Let only support close it", keep_open, offered=lambda it: is_live(it) and it.closable),
        Verb(
            "let-close", "Let the customer close it", let_close, offered=lambda it: is_live(it) and not it.closable
        ),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Ticket]:
        """Return the queryset without Django's, which orders by the annotations before they are added here."""
        return with_waiting(Ticket.objects.all()).select_related("account")

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        return ("waiting", "-id") if request.GET.get(StateFilter.parameter_name) == "waiting" else ("-id",)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.attachment)
        name = "accounts_ticket_attachment"
        return [path("<path:object_id>/attachments/<uuid:key>/", view, name=name), *super().get_urls()]

    def attachment(self, request: HttpRequest, object_id: str, key: UUID) -> HttpResponseBase:
        """Send a file of a customer as a download. The browser must never show it as a page of this site."""
        ticket = self.get_object(request, unquote(object_id))
        if not self.has_view_permission(request, ticket):
            raise PermissionDenied
        kept = TicketAttachment.objects.filter(ticket=ticket, key=key).first() if ticket else None
        if ticket is None or kept is None:
            raise Http404
        try:
            file = tickets.path_of(kept).open("rb")
        except FileNotFoundError:
            messages.error(
                request,
                f"{kept.name} is not on this machine. Check that all machines share the folder ATTACHMENTS_DIR.",
            )
            return HttpResponseRedirect(page_of(ticket))
        return as_download(file, kept.name, kept.media_type)

    def matches(self, term: str) -> Q:
        if is_id(term):
            return super().matches(term)
        owner = Account.objects.filter(Q(company__istartswith=term) | Q(email__istartswith=term))
        return super().matches(term) | Q(account__in=owner)

    def panels(self, request: HttpRequest, obj: Ticket) -> list[Panel]:
        return [conversation(obj)]

    @admin.display(description="Summary")
    def subject(self, ticket: Ticket) -> str:
        return ticket.summary

    @admin.display(description="Status")
    def state(self, ticket: Ticket) -> SafeString:
        return status_pill(ticket.status)

    @admin.display(description="Waits for support")
    def waits(self, ticket: "WithAnnotations[Ticket, Waiting]") -> SafeString:
        since = ticket.waiting
        if since is None:
            return NOTHING
        wait = now() - since
        return pill(f"since {span(wait)}", BAD if wait >= TOO_LONG else BUSY)

    @admin.display(description="About")
    def about(self, ticket: Ticket) -> str:
        if not ticket.entity_type:
            return NOTHING
        return entity_link(ticket.entity_type, ticket.entity_id, ticket.entity_label)

    @admin.display(description="Opened")
    def opened_at(self, ticket: Ticket) -> SafeString:
        return format_html("{} by {}", moment(ticket.opened), ticket.opened_by or "the platform")

    @admin.display(description="Updated")
    def updated_at(self, ticket: Ticket) -> SafeString:
        if not ticket.updated_by:
            return moment(ticket.updated)
        return format_html("{} by {}", moment(ticket.updated), ticket.updated_by)

    @admin.display(description="Closed")
    def closed_at(self, ticket: Ticket) -> SafeString:
        return moment(ticket.closed)

    @admin.display(description="Managed")
    def of_managed(self, ticket: Ticket) -> str:
        return "an issue that monitoring found" if ticket.managed_issue else "no"

    @admin.display(description="May be closed by")
    def may_close(self, ticket: Ticket) -> str:
        return "the customer and support" if ticket.closable else "support only"


def conversation(ticket: Ticket) -> Panel:
    """Return all texts and attachments of a ticket, the oldest first, with three queries."""
    entries = list(entries_of(ticket))
    named = User.objects.filter(account_id=ticket.account_id, username__in={entry.author for entry in entries})
    users = {user.username: user for user in named}
    return Panel(
        "Conversation",
        ("When", "Author", "Text"),
        [
            Row(
                (
                    moment(entry.created),
                    author_of(entry, users.get(entry.author)),
                    file_link(ticket, entry.attachment) if entry.attachment else words(entry.text),
                ),
                "ours" if entry.from_staff else "",
            )
            for entry in entries
        ],
    )


def author_of(entry: Entry, user: User | None) -> SafeString:
    if not entry.author:
        return format_html("the platform {}", pill("monitoring"))
    if entry.from_staff:
        return format_html("{} {}", entry.author, pill("support", BUSY))
    return format_html("{} {}", link(user) if user else entry.author, pill("customer"))


def file_link(ticket: Ticket, attachment: TicketAttachment) -> SafeString:
    address = reverse("admin:accounts_ticket_attachment", args=[ticket.pk, attachment.key])
    size = filesizeformat(attachment.size)
    return format_html(
        'Sent a file: <a href="{}">{}</a> ({}, {})', address, attachment.name, attachment.media_type, size
    )


@account_panel
def tickets_panel(account: Account) -> Panel:
    """Return the panel with the newest tickets of an account."""
    rows = with_waiting(Ticket.objects.filter(account=account)).order_by("-pk")[:10]
    return Panel.of(
        "Support tickets",
        ("Ticket", "Status", "Opened by", "Opened"),
        (
            (
                link(each, f"{each.pk}: {each.summary}"),
                status_pill(each.status),
                each.opened_by,
                moment(each.opened),
            )
            for each in rows
        ),
        more=list_of(Ticket, account__id__exact=account.pk),
    )


@watcher
def waiting(request: HttpRequest) -> Iterator[Notice]:
    """Return a notice of the number of tickets that wait for staff, and of the longest wait."""
    if not request.user.has_perm("accounts.view_ticket"):
        return
    live = with_waiting(Ticket.objects.exclude(status=Ticket.Status.CLOSED)).order_by()
    found = live.aggregate(number=Count("waiting"), first=Min("waiting"))
    if found["number"]:
        wait = now() - found["first"]
        text = f"Tickets that wait for support: {found['number']}, the first for {span(wait)}"
        yield Notice(text, list_of(Ticket, now="waiting"), tone=BAD if wait >= TOO_LONG else QUIET)
