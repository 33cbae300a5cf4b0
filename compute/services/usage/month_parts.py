"""The parts of calendar months, in UTC, that lie between two times and are not in the future."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from compute.services.common.months import month_of, next_month, start_of
from compute.services.usage import clock


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a month: its first day, and two times in it. `whole`: all of it, as far as it is over."""

    month: date
    begins: datetime
    ends: datetime
    whole: bool


def parts(since: datetime, until: datetime) -> list[Part]:
    """Return the parts of months between two times, oldest first, up to now."""
    return list(_parts(since, until, clock.now()))


def parameters(months: Iterable[Part]) -> dict[str, Any]:
    """Return the parameters of `MONTHS`."""
    months = list(months)
    return {
        "months": [each.month for each in months],
        "begins": [each.begins for each in months],
        "ends": [each.ends for each in months],
        "since": months[0].begins if months else None,
        "until": months[-1].ends if months else None,
    }


MONTHS = """
    unnest(%(months)s::date[], %(begins)s::timestamptz[], %(ends)s::timestamptz[])
        AS months (month, begins, ends)"""
"""SQL: rows of parts."""


def _parts(since: datetime, until: datetime, now: datetime) -> Iterator[Part]:
    begins = since
    while begins < min(until, now):
        month = month_of(begins)
        over = min(start_of(next_month(month)), now)
        ends = min(until, over)
        yield Part(month, begins, ends, whole=begins == start_of(month) and ends == over)
        begins = ends
