"""Limits on attempts: guesses at codes and passwords, and messages that cost money."""

from config.errors import Invalid
from config.limits import limits

TOO_MANY = "Too many attempts. Try again later."


def count(what: str, subject: str) -> bool:
    """Count an attempt of `subject` (``user:7``) under the limit named `what` in the setting RATE_LIMITS.

    Returns False, and counts nothing, where the limit was reached before. Exact across processes.
    """
    return count_all((what,), subject)


def count_all(names: tuple[str, ...], subject: str) -> bool:
    """As `count`, under several limits at once: the attempt counts under all of them or under none."""
    kept = limits()
    return kept.limiter.take(f"{names[0]}:{subject}", names[0], [kept.extra[name] for name in names]).allowed


def wait(what: str, subject: str) -> float:
    """Seconds that `subject` has to wait after too many attempts, 0 where it may try. Counts nothing: for callers
    that count failures alone, by `count`, once an attempt has failed."""
    kept = limits()
    return kept.limiter.wait(f"{what}:{subject}", what, [kept.extra[what]])


def check(what: str, subject: str, field: str | None = None) -> None:
    """As `count`, but raises `Invalid` on `field` where the limit was reached before."""
    if not count(what, subject):
        raise Invalid(TOO_MANY, field)
