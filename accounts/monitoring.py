"""Measures of accounts for operators: waiting mails and tickets."""

from collections.abc import Iterator

from django.db.models import Count, Max, Min, Q
from django.db.models.functions import Now
from prometheus_client.core import GaugeMetricFamily, Metric

from accounts.models import Account, Message, Ticket
from config.monitoring.registry import measures


@measures
def outbox() -> Iterator[Metric]:
    waiting = GaugeMetricFamily("skerry_messages", "Mails and short messages to send.", labels=["channel"])
    given_up = GaugeMetricFamily(
        "skerry_messages_given_up", "Mails and messages that failed and are not tried again.", labels=["channel"]
    )
    oldest = GaugeMetricFamily(
        "skerry_message_oldest_seconds", "The age of the oldest mail or message to send.", labels=["channel"]
    )
    rows = Message.objects.order_by().values("channel").annotate(
        waiting=Count("pk", filter=Q(given_up=False)),
        lost=Count("pk", filter=Q(given_up=True)),
        first=Min("created", filter=Q(given_up=False)),
        clock=Max(Now()),
    )  # fmt: skip
    found = {row["channel"]: row for row in rows}
    for channel in Message.Channel.values:
        row = found.get(channel)
        age = (row["clock"] - row["first"]).total_seconds() if row and row["first"] else 0.0
        waiting.add_metric([channel], row["waiting"] if row else 0)
        given_up.add_metric([channel], row["lost"] if row else 0)
        oldest.add_metric([channel], age)
    yield from (waiting, given_up, oldest)


@measures
def tickets() -> Iterator[Metric]:
    family = GaugeMetricFamily("skerry_tickets", "Tickets that are not closed.", labels=["status"])
    rows = Ticket.objects.exclude(status=Ticket.Status.CLOSED).order_by().values_list("status")
    found = dict(rows.annotate(number=Count("pk")))
    for status in (Ticket.Status.NEW, Ticket.Status.OPEN):
        family.add_metric([status], found.get(status, 0))
    yield family


@measures
def accounts() -> Iterator[Metric]:
    found = Account.objects.aggregate(
        active=Count("pk", filter=Q(is_active=True)),
        suspended=Count("pk", filter=Q(is_active=False, closed=None)),
        closed=Count("pk", filter=Q(closed__isnull=False)),
    )
    family = GaugeMetricFamily("skerry_accounts", "Accounts.", labels=["state"])
    for state, number in found.items():
        family.add_metric([state], number)
    yield family
