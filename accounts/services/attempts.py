"""Limits on attempts: guesses at codes and passwords, and messages that cost money."""

import math
from contextlib import AbstractContextManager
from datetime import timedelta

from django.utils.timezone import now

from config.display.plurals import counted
from config.errors import TooMany
from config.limits.rates import Verdict, limits

MINUTE, HOUR = 60, 3600


def check(what: str, subject: str) -> None:
    """Count an attempt of `subject` (``user:7``) under the limit named `what` in the setting RATE_LIMITS.

    Raises `TooMany`, and counts nothing, if the limit was reached before. Exact across processes.
    """
    check_all((what,), subject)


def check_all(names: tuple[str, ...], subject: str) -> None:
    """Count an attempt as `check` does, under several limits at once: under all of them or under none."""
    verdict = _take(names, subject)
    if not verdict.allowed:
        raise too_many(verdict.limit, verdict.reset)


def count(what: str, subject: str) -> bool:
    """Count an attempt as `check` does, and return False if the limit was reached before."""
    return _take((what,), subject).allowed


def check_with_api(what: str, user_id: int, account_id: int) -> None:
    """Count a request of a page under the API's limit named `what`. Pages and the API share the count of a user.

    Raises `TooMany`, and counts nothing, if the limit was reached before.
    """
    kept = limits()
    verdict = kept.limiter.begin(f"user:{user_id}", what, [kept.extra[what]], account_id)()
    if not verdict.allowed:
        raise too_many(verdict.limit, verdict.reset)


def measured_with_api(account_id: int, *, polls: bool = False) -> AbstractContextManager[None]:
    """Count the work of a block under the API's limit on expensive calls (`config.limits.metering`).

    Pages and the API share the seconds of an account. With `polls`, the work of its open pages counts, which has
    as many seconds of its own. Raises `TooMany` if earlier work reached the limit.
    """
    return limits().meter.limited(f"{'polls' if polls else 'account'}:{account_id}", too_many)


def wait(what: str, subject: str) -> float:
    """Return the seconds that `subject` must wait after too many attempts, or 0. Counts nothing.

    It is for callers that only count failures, with `count`, after an attempt has failed.
    """
    kept = limits()
    return kept.limiter.wait(f"{what}:{subject}", what, [kept.extra[what]])


def too_many(count: int, seconds: float) -> TooMany:
    """Return the refusal of an attempt beyond `count`. The next attempt is allowed in `seconds`."""
    return TooMany(advice(seconds), count, seconds)


def advice(seconds: float) -> str:
    """Return when to try again, for people: ``Too many attempts. Try again in 12 minutes, at 14:05 UTC.``

    The time is never too early: a part of a minute or an hour counts as a whole one.
    """
    seconds = max(1, math.ceil(seconds))
    moment = now()
    if seconds <= MINUTE:
        span, ends = counted(seconds, "second"), moment + timedelta(seconds=seconds + 1)
        return f"Too many attempts. Try again in {span}, at {ends:%H:%M:%S} UTC."
    span = counted(math.ceil(seconds / MINUTE), "minute")
    if seconds > 2 * HOUR:
        span = counted(math.ceil(seconds / HOUR), "hour")
    ends = moment + timedelta(seconds=seconds + MINUTE)  # shown without its seconds
    day = "" if ends.date() == moment.date() else f"{ends:%Y-%m-%d} "
    return f"Too many attempts. Try again in {span}, at {day}{ends:%H:%M} UTC."


def _take(names: tuple[str, ...], subject: str) -> Verdict:
    kept = limits()
    return kept.limiter.take(f"{names[0]}:{subject}", names[0], [kept.extra[name] for name in names])
