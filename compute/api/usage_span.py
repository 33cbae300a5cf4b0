"""The query parameters of a report of usage: its time and its groups."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from compute.services.common.months import month_of, next_month, start_of
from compute.services.usage import reports
from config.api import reasons
from config.api.paths import FIRST_YEAR, LAST_YEAR
from config.errors import Problems

MAX_MONTHS = 13
"""The most calendar months that a report covers. A month that is covered in part counts."""


@dataclass(frozen=True, slots=True)
class Span:
    """The time that a report is about, and its groups."""

    since: datetime
    until: datetime
    group_by: str


def span_of(query: Mapping[str, str], now: datetime) -> Span:
    """Read the parameters of a report. Without both times, it is about the present month.

    Raises `Invalid` naming ``from``, ``until`` and ``group_by``.
    """
    problems = Problems()
    present = month_of(now)
    since = _time(query, "from", start_of(present), problems)
    until = _time(query, "until", start_of(next_month(present)), problems)
    group_by = query.get("group_by", reports.KIND)
    if group_by not in reports.GROUPINGS:
        problems.add("group_by", reasons.not_valid("group_by", f"one of {', '.join(reports.GROUPINGS)}"))
    if since and until:
        _check_order(since, until, query, problems)
    return Span(problems.checked(since), problems.checked(until), group_by)


def _time(query: Mapping[str, str], name: str, default: datetime, problems: Problems) -> datetime | None:
    """Return a parameter's time in UTC. A date is its beginning, and a time without an offset is in UTC."""
    if name not in query:
        return default
    try:
        moment = datetime.fromisoformat(query[name])
        found = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        problems.add(name, reasons.not_valid(name, "a date or a time, such as 2026-11-01 or 2026-11-01T12:00:00"))
        return None
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        problems.add(name, reasons.bounds(f"the year of {name}", FIRST_YEAR, LAST_YEAR))
        return None
    return found


def _check_order(since: datetime, until: datetime, query: Mapping[str, str], problems: Problems) -> None:
    """Add a problem with ``until``. The reason names the default of a time that was not sent."""
    if until <= since and "from" not in query:
        default = f"{since:%Y-%m-%d}"
        problems.add("until", f"until must be after from, which is {default} by default")
    elif until <= since and "until" not in query:
        default = f"{until:%Y-%m-%d}"
        problems.add("until", f"until, which is {default} by default, must be after from")
    elif until <= since:
        problems.add("until", "until must be after from")
    elif _months(since, until) > MAX_MONTHS:
        problems.add("until", f"until is too late: a report covers at most {MAX_MONTHS} calendar months")


def _months(since: datetime, until: datetime) -> int:
    """Return the number of calendar months in which a time from `since` until before `until` lies."""
    ends_inside = until != start_of(month_of(until))
    return 12 * (until.year - since.year) + until.month - since.month + ends_inside
