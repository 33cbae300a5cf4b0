"""The usage of an account in one month, for people: from its statement, or computed up to now."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from compute.models import UsageStatement
from compute.services.common.months import next_month, start_of
from compute.services.usage.reports import KIND, RESOURCE, Group, Line, summary
from compute.services.usage.statements import in_cents, lines_of


@dataclass(frozen=True, slots=True)
class MonthUsage:
    """The total in USD, rounded to cents, the sums by kind, and a part of the sums by resource.

    `count` is the number of all resources. Without a `statement`, the amounts are preliminary.
    """

    month: date
    total: Decimal
    kinds: list[Group]
    resources: list[Group]
    count: int
    statement: UsageStatement | None


def usage_of_month(account_id: int, month: date, *, offset: int = 0, limit: int = 100) -> MonthUsage:
    """Return the usage of an account in a month, with the resources that cost the most first."""
    statement = UsageStatement.objects.filter(account=account_id, month=month).first()
    if statement is not None:
        lines = lines_of(statement)
        resources = by_resource(lines)
        page = resources[offset : offset + limit]
        return MonthUsage(month, statement.total, by_kind(lines), page, len(resources), statement)
    since, until = start_of(month), start_of(next_month(month))
    kinds = summary(account_id, since, until, KIND)
    found = summary(account_id, since, until, RESOURCE, offset=offset, limit=limit)
    return MonthUsage(month, in_cents(kinds.total), kinds.groups, found.groups, found.count, None)


def by_kind(lines: Iterable[Line]) -> list[Group]:
    """Return the sums of lines by kind, as `summary` does."""
    sums: dict[str, list[Line]] = {}
    for line in lines:
        sums.setdefault(line.kind, []).append(line)
    return [Group(kind, None, None, None, None, *_sums(found)) for kind, found in sorted(sums.items())]


def by_resource(lines: Iterable[Line]) -> list[Group]:
    """Return the sums of lines by resource, as `summary` does. A resource's last line has its latest label."""
    sums: dict[tuple[str, int], list[Line]] = {}
    for line in lines:
        sums.setdefault((line.kind, line.resource), []).append(line)
    groups = [
        Group(kind, resource, found[-1].label, found[-1].region, found[-1].type, *_sums(found))
        for (kind, resource), found in sums.items()
    ]
    return sorted(groups, key=lambda group: (-group.amount, group.kind, group.resource))


def _sums(lines: list[Line]) -> tuple[Decimal, Decimal, Decimal]:
    """Return the sums of hours, of quantities times hours, and of amounts."""
    return (
        sum((line.hours for line in lines), Decimal(0)),
        sum((line.quantity_hours for line in lines), Decimal(0)),
        sum((line.amount for line in lines), Decimal(0)),
    )
