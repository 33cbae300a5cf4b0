"""The conversation of a ticket."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from accounts.models import Ticket, TicketAttachment


@dataclass(frozen=True, slots=True)
class Entry:
    """A text or a file of a ticket. `author` is empty for the platform, `attachment` is None for a text."""

    author: str
    from_staff: bool
    created: datetime
    text: str = ""
    attachment: TicketAttachment | None = None


def entries_of(ticket: Ticket) -> Iterator[Entry]:
    """Yield texts and files of a ticket, the oldest first. Two queries."""
    yield Entry(ticket.opened_by, not ticket.opened_by, ticket.opened, ticket.description)
    found = [
        *(Entry(each.created_by, each.from_staff, each.created, each.description) for each in ticket.replies.all()),
        *(Entry(each.created_by, False, each.created, "", each) for each in ticket.attachments.all()),
    ]
    yield from sorted(found, key=lambda entry: entry.created)
