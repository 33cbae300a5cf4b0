"""Formats for values of managed monitoring, such as times and tickets."""

from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import now

from accounts.models import Ticket
from config.admin.value_formats import BUSY, NOTHING, QUIET, link, moment, pill, span

TARGET = '<span class="address">{}</span>'


def ago(time: datetime | None) -> SafeString:
    """Format how long ago, or how soon, `time` is, with the time itself as a tooltip: for lists."""
    if time is None:
        return NOTHING
    exact = f"{time:%Y-%m-%d %H:%M:%S}"
    return format_html('<time datetime="{}" title="{}">{}</time>', time.isoformat(), exact, _distance(time))


def moment_ago(time: datetime | None) -> SafeString:
    """Format `time`, and how long ago, or how soon, it is."""
    return NOTHING if time is None else format_html("{}, {}", moment(time), _distance(time))


def _distance(time: datetime) -> str:
    current = now()
    return f"{span(current - time)} ago" if time <= current else f"in {span(time - current)}"


def ticket_link(ticket: Ticket) -> SafeString:
    """Return a link to the ticket, and the ticket's status."""
    closed = ticket.status == Ticket.Status.CLOSED
    state = pill(ticket.status, QUIET if closed else BUSY)
    return format_html("{} {}", link(ticket, f"{ticket.pk}: {ticket.summary}"), state)
