"""Labels of statuses, coloured by their tone. The text always repeats the meaning of the colour."""

from collections.abc import Iterable

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

GOOD, BUSY, BAD, QUIET = "good", "busy", "bad", "quiet"
"""The tones of labels, rows and figures. ``frame/components.css`` has their colours."""

TONES = {
    GOOD: {
        "running", "finished", "available", "active", "ready", "enabled", "successful", "applied", "done", "UP",
        "ok",
    },
    QUIET: {"offline", "notification", "disabled", "closed", "Unknown", "cancelled", "paused", "userAborted"},
    BAD: {"stopped", "failed", "DOWN", "problem"},
}  # fmt: skip
"""The statuses of each tone. Every other status is in progress."""


def tone_of(status: str) -> str:
    """Return the tone of a status: `BUSY` for a status in progress."""
    return next((tone for tone, statuses in TONES.items() if status in statuses), BUSY)


def pill(text: object, tone: str = QUIET) -> SafeString:
    """Return a label of one tone."""
    return format_html('<span class="status {}">{}</span>', tone, text)


def status_pill(status: str) -> SafeString:
    """Return the label of a status in words: ``shutting_down`` is *shutting down*."""
    return pill(status.replace("_", " "), tone_of(status))


def status_counts(counts: Iterable[tuple[str, int]]) -> SafeString:
    """Return the label ``2 UP`` for each status that occurs; empty if none does."""
    found = (pill(f"{number} {name}", tone_of(name)) for name, number in counts if number)
    return format_html_join(" ", "{}", ((each,) for each in found))
