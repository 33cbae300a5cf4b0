"""Formats for values of managed monitoring, such as tickets."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.models import Ticket
from config.admin.value_formats import link
from config.display.statuses import status_pill

TARGET = '<span class="address">{}</span>'


def ticket_link(ticket: Ticket) -> SafeString:
    """Return a link to the ticket, and the ticket's status."""
    return format_html("{} {}", link(ticket, f"{ticket.pk}: {ticket.summary}"), status_pill(ticket.status))
