"""Months in UTC, as transfer is counted."""

from datetime import UTC, date, datetime


def month_of(moment: datetime) -> date:
    """The first day of the month that `moment` is in."""
    return moment.astimezone(UTC).date().replace(day=1)


def next_month(month: date) -> date:
    return date(month.year + month.month // 12, month.month % 12 + 1, 1)


def start_of(month: date) -> datetime:
    return datetime(month.year, month.month, 1, tzinfo=UTC)


def share_of(month: date, begins: datetime, ends: datetime | None = None) -> float:
    """The fraction of the month between two times, 0.0 to 1.0; without `ends`, to the end of the month."""
    first, last = start_of(month), start_of(next_month(month))
    since, until = max(first, begins), min(last, ends or last)
    return max(0.0, (until - since) / (last - first))
