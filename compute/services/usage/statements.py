"""Statements: the usage of each account in each month that is over, written once and never changed."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Min, Q

from accounts.models import Account
from accounts.services import outbox
from compute.models import UsageInterval, UsageKind, UsageSettings, UsageStatement
from compute.services.common.months import month_of, next_month, start_of
from compute.services.usage import clock
from compute.services.usage.reports import TRANSFER, Group, Line, lines
from compute.services.usage.rounds import BATCH, visit_accounts

TASK_NAME = "compute.worker.freeze_statements"
FREEZE_DELAY = timedelta(hours=1)
"""The time after the end of a month until its statements are written.

Transactions and samples of transfer that began in the month have ended by then.
"""
DECIMALS = ("hours", "quantity_hours", "price_hourly", "price_monthly", "amount")
KIND_LABELS = {
    UsageKind.COMPUTE: "instances",
    UsageKind.COMPUTE_BACKUPS: "backups of instances",
    UsageKind.VOLUME: "volumes",
    UsageKind.BACKUP: "space of backups",
    UsageKind.IMAGE: "images",
    UsageKind.EXTRA_IPV4: "extra IPv4 addresses",
    UsageKind.IPV6_RANGE: "IPv6 ranges",
    UsageKind.NODEBALANCER: "load balancers",
    TRANSFER: "transfer beyond the pool",
}
"""The names of the kinds of lines in mails, in the order of the mails."""

# Open and ended intervals are searched separately, so that each search reads a range of the index. OFFSET 0 keeps
# PostgreSQL from reading the intervals of all accounts at once. The months of an account are written in order, so
# every month before its latest statement is done.
_DUE = """
SELECT a.id
  FROM accounts_account a
 WHERE a.id > %(after)s
   AND NOT EXISTS (SELECT FROM compute_usagestatement s WHERE s.account_id = a.id AND s.month = %(month)s)
   AND (EXISTS (SELECT FROM compute_usageinterval u
                 WHERE u.account_id = a.id AND u.ended IS NULL AND u.started < %(until)s OFFSET 0)
     OR EXISTS (SELECT FROM compute_usageinterval u
                 WHERE u.account_id = a.id AND u.ended > u.started AND u.started < %(until)s
                   AND u.ended > COALESCE(
                       (SELECT (max(s.month) + interval '1 month') AT TIME ZONE 'UTC'
                          FROM compute_usagestatement s WHERE s.account_id = a.id), '-infinity') OFFSET 0))
 ORDER BY a.id
 LIMIT %(limit)s
"""


def freeze_due(after: int = 0) -> int:
    """Write the statements of all months that are over, and return their number.

    The argument and the bounds are those of `visit_accounts`. Any number of clocks may run this at once: each
    statement is written and mailed once.
    """
    until = start_of(month_of(clock.now() - FREEZE_DELAY))
    return visit_accounts(
        lambda last: _due(until, last), lambda account_id: _freeze_account(account_id, until), TASK_NAME, after
    )


def _due(until: datetime, after: int) -> list[int]:
    """Return the ids of accounts that lack a statement of a month before `until`, without the first `after`."""
    last = month_of(until - timedelta(days=1))
    with connection.cursor() as cursor:
        cursor.execute(_DUE, {"after": after, "month": last, "until": until, "limit": BATCH})
        return [row[0] for row in cursor.fetchall()]


def _freeze_account(account_id: int, until: datetime) -> int:
    """Write the statements of an account for its months before `until`. Return their number."""
    written = 0
    while (month := _next_month(account_id, until)) is not None:
        written += freeze(account_id, month)
    return written


def _next_month(account_id: int, until: datetime) -> date | None:
    """Return the first month before `until` with usage of the account, after its latest statement."""
    there = UsageInterval.objects.filter(account=account_id, started__lt=until)
    latest = UsageStatement.objects.filter(account=account_id).order_by("-month").first()
    ended = Q(ended__gt=F("started"))
    if latest is not None:
        ended &= Q(ended__gt=start_of(next_month(latest.month)))
    first = there.filter(Q(ended=None) | ended).aggregate(first=Min("started"))["first"]
    if first is None:
        return None
    month = month_of(first) if latest is None else max(month_of(first), next_month(latest.month))
    return month if start_of(month) < until else None


@transaction.atomic
def freeze(account_id: int, month: date) -> bool:
    """Write the statement of an account for a month, and its mail. False if another process has written it."""
    found = lines(account_id, start_of(month), start_of(next_month(month)))
    total = in_cents(sum((line.amount for line in found), Decimal(0)))
    values = {"total": total, "lines": [as_json(line) for line in found]}
    statement, is_new = UsageStatement.objects.get_or_create(account_id=account_id, month=month, defaults=values)
    if is_new and UsageSettings.objects.filter(account=account_id, mail_statements=True).exists():
        _mail(statement, found)
    return is_new


def _mail(statement: UsageStatement, found: Iterable[Line]) -> None:
    account = Account.objects.get(pk=statement.account_id)
    if not account.email:
        return
    context = {
        "account": account, "month": statement.month, "total": statement.total, "kinds": amounts_by_kind(found),
    }  # fmt: skip
    outbox.mail_to(account.email, "usage_statement", context)
    UsageStatement.objects.filter(pk=statement.pk).update(mailed=clock.now())


def in_cents(amount: Decimal) -> Decimal:
    """Return an amount rounded half up to cents."""
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP)


def amounts_by_kind(found: Iterable[Line | Group]) -> list[tuple[str, Decimal]]:
    """Return the label of each kind that costs something, with the sum of its amounts."""
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for line in found:
        sums[line.kind] += line.amount
    return [(label, sums[kind]) for kind, label in KIND_LABELS.items() if sums[kind]]


def as_json(line: Line) -> dict[str, Any]:
    """Return a line for `UsageStatement.lines`. Decimals are texts, because JSON has only floats."""
    return {field.name: _as_text(getattr(line, field.name)) for field in fields(Line)}


def _as_text(value: Any) -> Any:
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value.isoformat() if isinstance(value, date) else value


def lines_of(statement: UsageStatement) -> list[Line]:
    """Return the lines of a statement."""
    return [_line(values) for values in statement.lines]


def _line(values: dict[str, Any]) -> Line:
    read: dict[str, Any] = dict(values, month=date.fromisoformat(values["month"]))
    for name in DECIMALS:
        read[name] = None if values[name] is None else Decimal(values[name])
    return Line(**read)
