"""How often something may be tried: guesses at codes and passwords, and messages that cost money."""

from config.api.throttles import limits
from config.errors import Invalid

TOO_MANY = "Too many attempts. Try again later."


def count(what: str, subject: str) -> bool:
    """Count an attempt of `subject` (``user:7``) under the limit named `what` in the setting RATE_LIMITS.

    False where there were too many already, exact across processes; this one does not count then.
    """
    kept = limits()
    return kept.limiter.take(f"{what}:{subject}", what, (kept.extra[what],)).allowed


def check(what: str, subject: str, field: str | None = None) -> None:
    """As `count`; raises `Invalid` on `field` where there were too many."""
    if not count(what, subject):
        raise Invalid(TOO_MANY, field)
