"""How often something may be tried: guesses at codes and passwords, and messages that cost money."""

from config.errors import Invalid
from config.limits import limits

TOO_MANY = "Too many attempts. Try again later."


def count(what: str, subject: str) -> bool:
    """Count an attempt of `subject` (``user:7``) under the limit named `what` in the setting RATE_LIMITS.

    False where there were too many already, exact across processes; this one does not count then.
    """
    return count_all((what,), subject)


def count_all(names: tuple[str, ...], subject: str) -> bool:
    """The same under several limits at once: it counts under all of them or under none."""
    kept = limits()
    return kept.limiter.take(f"{names[0]}:{subject}", names[0], [kept.extra[name] for name in names]).allowed


def wait(what: str, subject: str) -> float:
    """Seconds for which `subject` has to wait after too many attempts, 0 where it may try. Counts nothing: for what
    counts failures alone, by `count`, once it is known that it failed."""
    kept = limits()
    return kept.limiter.wait(f"{what}:{subject}", what, [kept.extra[what]])


def check(what: str, subject: str, field: str | None = None) -> None:
    """As `count`; raises `Invalid` on `field` where there were too many."""
    if not count(what, subject):
        raise Invalid(TOO_MANY, field)
