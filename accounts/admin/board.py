"""The parts of accounts on the first page: counts, and tickets that wait for support. Two queries."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Count, Q
from django.http import HttpRequest
from django.utils.timezone import now

from accounts.admin.tickets import TOO_LONG, with_waiting
from accounts.models import Account, Ticket
from config.admin.board.bars import BarTable, bar
from config.admin.board.registry import Figure, Number, part
from config.admin.pages import CappedPaginator, Row
from config.admin.value_formats import list_of
from config.display.statuses import BAD, BUSY

HOUR = timedelta(hours=1)
WAIT_GROUPS = (
    ("less than an hour", timedelta(0), HOUR, BUSY),
    ("one to four hours", HOUR, 4 * HOUR, BUSY),
    ("four hours to a day", 4 * HOUR, TOO_LONG, BUSY),
    ("one to three days", TOO_LONG, 3 * TOO_LONG, BAD),
    ("three days and longer", 3 * TOO_LONG, timedelta(days=36500), BAD),
)
"""The waiting times of tickets: words, from, until, and whether it is too long."""


@part(40)
def accounts(request: HttpRequest) -> Iterator[Number | Figure]:
    if request.user.has_perm("accounts.view_account"):
        most = CappedPaginator.MAX_COUNTED
        number = Account.objects.order_by().values("pk")[: most + 1].count()
        yield Number("accounts", f"{number:,}" if number <= most else f"over {most:,}", list_of(Account))


@part(60)
def tickets(request: HttpRequest) -> Iterator[Number | Figure]:
    if not request.user.has_perm("accounts.view_ticket"):
        return
    clock = now()
    live = with_waiting(Ticket.objects.exclude(status=Ticket.Status.CLOSED)).order_by()
    counts = {
        f"of{index}": Count("pk", filter=Q(waiting__lte=clock - least, waiting__gt=clock - most))
        for index, (_, least, most, _) in enumerate(WAIT_GROUPS)
    }
    found = live.aggregate(number=Count("pk"), **counts)
    numbers = [found[f"of{index}"] for index in range(len(WAIT_GROUPS))]
    waiting, listed = sum(numbers), list_of(Ticket, now="waiting")
    yield Number("tickets wait for support", f"{waiting:,}", listed, f"of {found['number']:,} not closed")
    yield BarTable(
        "Tickets by how long they wait",
        ("Since", "Tickets", ""),
        [
            Row((name, f"{number:,}", bar([(tone, number)], max(numbers))))
            for (name, _, _, tone), number in zip(WAIT_GROUPS, numbers, strict=True)
        ] if waiting else [],
        more=listed,
        empty="No ticket waits for support.",
    )  # fmt: skip
