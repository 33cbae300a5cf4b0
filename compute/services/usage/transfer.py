"""Network transfer of an account beyond its pool, month by month.

Only whole months count, and the present month so far: the pool is for a month. The pool of the present month is
that of `GET /account/transfer`. The pool of a past month comes from usage intervals, so that later changes do not
affect it. The rule is the same: an instance adds the transfer of its last type in the month, in proportion to the
time for which it existed.

A month in which no instance was metered has no transfer. In the account's first metered month, instances may be
older than metering. The pool is then at least that of the present instances.
"""

from collections.abc import Sequence
from datetime import date

from django.db import connection
from django.db.models import Min, Sum

from accounts.models import Account
from compute.models import Transfer, UsageInterval
from compute.services.common.months import month_of, start_of
from compute.services.stats import transfer
from compute.services.usage import clock
from compute.services.usage.month_parts import MONTHS, Part, parameters

_POOLS = f"""
WITH instances AS (
    SELECT month, begins, ends, (array_agg(type ORDER BY started DESC))[1] AS type,
           sum(EXTRACT(epoch FROM LEAST(ended, ends) - GREATEST(started, begins))) AS seconds
      FROM compute_usageinterval JOIN {MONTHS} ON started < ends AND (ended IS NULL OR ended > begins)
     WHERE account_id = %(account)s AND kind = 'compute'
       AND started < %(until)s AND (ended IS NULL OR ended > %(since)s)
     GROUP BY month, begins, ends, resource
)
SELECT month, COALESCE(sum(round(transfer * seconds / EXTRACT(epoch FROM ends - begins))), 0)::bigint
  FROM instances LEFT JOIN compute_instancetype ON id = type
 GROUP BY month
"""  # noqa: S608 - of constants


def beyond_pool(account_id: int, months: Sequence[Part]) -> dict[date, int]:
    """Return the GB beyond the pool by month, of those of the `months` that are whole and have any."""
    now = clock.now()
    present = month_of(now)
    whole = {each.month: each for each in months if each.whole}
    rows = Transfer.objects.filter(account=account_id, month__in=whole).order_by("month")
    sent = {month: total // transfer.GB for month, total in rows.values_list("month").annotate(Sum("sent"))}
    beyond = {}
    past = [whole[month] for month, used in sent.items() if used and month != present]
    for month, pool in _pools(account_id, past).items():
        beyond[month] = sent[month] - pool
    if sent.get(present):
        beyond[present] = transfer.of_account(Account(pk=account_id), now).billable
    return {month: gigabytes for month, gigabytes in sorted(beyond.items()) if gigabytes > 0}


def _pools(account_id: int, past: list[Part]) -> dict[date, int]:
    """Return the account's pools in GB by month, of the months in which instances were metered."""
    if not past:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_POOLS, {"account": account_id, **parameters(past)})
        pools = dict(cursor.fetchall())
    metered = UsageInterval.objects.filter(account=account_id)
    if pools and not metered.filter(started__lt=past[0].begins).exists():
        first = month_of(metered.aggregate(first=Min("started"))["first"])
        if first in pools:
            pools[first] = max(pools[first], transfer.of_account(Account(pk=account_id), start_of(first)).quota)
    return pools
