"""Filters of support tickets and their replies."""

from accounts.models import Ticket, TicketReply
from config.filters import CharFilter, DateTimeFilter, FilterSet, NumberFilter, PartFilter, StatusFilter


class TicketFilterSet(FilterSet):
    """Filters of tickets of an account."""

    id = NumberFilter()
    status = CharFilter()
    closed = DateTimeFilter()
    opened = DateTimeFilter()
    updated = DateTimeFilter()

    class Meta:
        model = Ticket


class TicketListFilterSet(FilterSet):
    """The filters of the list in the browser, in the order of its form."""

    summary = PartFilter(label="Summary")
    status = StatusFilter(label="Status")

    class Meta:
        model = Ticket


class ReplyFilterSet(FilterSet):
    """Filters of replies of a ticket."""

    id = NumberFilter()

    class Meta:
        model = TicketReply
