"""Reports of usage: the hours and the cost of an account's resources between two times, by calendar months in UTC.

A resource has one line for each month, region, type and price. An open interval counts until now. Hours and
GB-hours have 6 decimals, amounts 4. Amounts are computed from these hours and rounded half up. All totals are sums
of rounded lines, so that an export adds up.
"""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from compute.models import ResourcePrice, UsageKind
from compute.services.usage import transfer
from compute.services.usage.month_parts import MONTHS, parameters, parts

TRANSFER = ResourcePrice.Kind.TRANSFER.value
"""The kind of lines of transfer beyond the account's pool. Intervals have the other kinds."""
KINDS = (*UsageKind.values, TRANSFER)
TOTAL, KIND, RESOURCE = "total", "kind", "resource"
GROUPINGS = (TOTAL, KIND, RESOURCE)


@dataclass(frozen=True, slots=True)
class Line:
    """The cost of one resource in one month, in one region, of one type and at one price.

    `quantity_hours` is the sum of quantity times hours, such as GB-hours. The amount in USD is `quantity_hours`
    times `price_hourly`, but at most `price_monthly` for the average quantity, which is `quantity_hours / hours`.

    A line of transfer has no hours: its `quantity_hours` are GB, and `price_hourly` is the price of one GB. Its
    resource is the account.
    """

    month: date
    kind: str
    resource: int
    label: str
    region: str
    type: str
    hours: Decimal
    quantity_hours: Decimal
    price_hourly: Decimal
    price_monthly: Decimal | None
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Group:
    """The sum of all lines of one kind, or of one resource. Label, region and type are the resource's latest."""

    kind: str
    resource: int | None
    label: str | None
    region: str | None
    type: str | None
    hours: Decimal
    quantity_hours: Decimal
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Summary:
    """The sum of all amounts in USD, the requested groups, and the number of all groups."""

    total: Decimal
    groups: list[Group]
    count: int


# The capped price divides by the rounded hours, as a reader of the line would.
_LINES = f"""
WITH pieces AS (
    SELECT month, kind, resource, label, region, type, price_hourly, price_monthly, started, quantity,
           EXTRACT(epoch FROM LEAST(ended, ends) - GREATEST(started, begins)) AS seconds
      FROM compute_usageinterval JOIN {MONTHS} ON started < ends AND (ended IS NULL OR ended > begins)
     WHERE account_id = %(account)s AND started < %(until)s AND (ended IS NULL OR ended > %(since)s)
),
metered AS (
    SELECT month, kind, resource, (array_agg(label ORDER BY started DESC))[1] AS label, region, type,
           round(sum(seconds) / 3600, 6) AS hours, round(sum(quantity * seconds) / 3600, 6) AS quantity_hours,
           price_hourly, price_monthly, max(started) AS latest
      FROM pieces GROUP BY resource, month, kind, region, type, price_hourly, price_monthly
     UNION ALL
    SELECT month, '{TRANSFER}', %(account)s, '', '', '', 0, gigabytes,
           COALESCE((SELECT each FROM compute_resourceprice WHERE id = '{TRANSFER}'), 0), NULL, NULL
      FROM unnest(%(transfer_months)s::date[], %(gigabytes)s::numeric[]) AS beyond (month, gigabytes)
),
lines AS (
    SELECT *, round(quantity_hours * LEAST(price_hourly, price_monthly / NULLIF(hours, 0)), 4) AS amount
      FROM metered WHERE quantity_hours > 0
)
"""  # noqa: S608 - of constants
_ALL = f"""{_LINES}
SELECT month, kind, resource, label, region, type, hours, quantity_hours, price_hourly, price_monthly, amount
  FROM lines ORDER BY month, kind, resource, latest, region, type, price_hourly, price_monthly
"""  # noqa: S608
_BY_KIND = f"""{_LINES}
SELECT kind, NULL, NULL, NULL, NULL, sum(hours), sum(quantity_hours), sum(amount)
  FROM lines GROUP BY kind ORDER BY kind
"""  # noqa: S608
_BY_RESOURCE = f"""{_LINES},
resources AS (
    SELECT kind, resource, (array_agg(label ORDER BY latest DESC))[1], (array_agg(region ORDER BY latest DESC))[1],
           (array_agg(type ORDER BY latest DESC))[1], sum(hours), sum(quantity_hours), sum(amount) AS amount
      FROM lines GROUP BY resource, kind
)
SELECT totals.total, totals.count, page.*
  FROM (SELECT COALESCE(sum(amount), 0) AS total, count(*) AS count FROM resources) totals
  LEFT JOIN (SELECT * FROM resources ORDER BY amount DESC, kind, resource LIMIT %(limit)s OFFSET %(offset)s) page
       ON TRUE
 ORDER BY page.amount DESC, page.kind, page.resource
"""  # noqa: S608


def lines(account_id: int, since: datetime, until: datetime) -> list[Line]:
    """Return the lines of an account between two times, by month, kind and resource.

    Transfer beyond the pool has lines for whole months, and for the present month so far.
    """
    return [Line(*row) for row in _rows(_ALL, account_id, since, until)]


def summary(
    account_id: int, since: datetime, until: datetime, group_by: str = KIND, *, offset: int = 0, limit: int = 100
) -> Summary:
    """Return the sums of an account between two times, in total, by kind, or by resource.

    Resources are sorted by amount, the largest first. `offset` and `limit` select the groups that are returned.
    """
    if group_by == RESOURCE:
        rows = _rows(_BY_RESOURCE, account_id, since, until, offset=offset, limit=limit)
        total, count = rows[0][:2]
        return Summary(total, [Group(*row[2:]) for row in rows if row[2] is not None], count)
    groups = [Group(*row) for row in _rows(_BY_KIND, account_id, since, until)]
    total = sum((each.amount for each in groups), Decimal(0))
    if group_by == TOTAL:
        return Summary(total, [], 0)
    return Summary(total, groups[offset : offset + limit], len(groups))


def _rows(
    statement: str, account_id: int, since: datetime, until: datetime, **others: int
) -> list[tuple[Any, ...]]:
    months = parts(since, until)
    beyond = transfer.beyond_pool(account_id, months)
    values = {"account": account_id, **parameters(months), **others}
    values.update(transfer_months=list(beyond), gigabytes=list(beyond.values()))
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()
