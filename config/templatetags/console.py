"""Tags and filters of the customer's pages: times, sizes, and the tone of a status."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

MB_OF_GB = 1024
TONES = {
    "good": {"running", "finished", "available", "active", "ready", "enabled"},
    "quiet": {"offline", "notification", "disabled"},
    "bad": {"stopped", "failed"},
}
"""The statuses of each tone. Every other status is under way."""


@register.simple_tag(takes_context=True)
def moment(context: template.Context, value: datetime | None, empty: str = "never") -> SafeString | str:
    """A time in the time zone of the user, with UTC on hover: ``{% moment event.created %}``."""
    if value is None:
        return empty
    zone = _zone_of(getattr(context.get("user"), "timezone", "") or "UTC")
    local = value.astimezone(zone)
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        f"{value:%Y-%m-%dT%H:%M:%SZ}", f"{value:%Y-%m-%d %H:%M:%S}", f"{local:%Y-%m-%d %H:%M}",
    )  # fmt: skip


def _zone_of(name: str) -> ZoneInfo:
    """The zone of that name, or UTC where this machine's database lacks it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


@register.filter
def size(megabytes: int) -> str:
    """MB as people read them: ``25 GB``, ``512 MB``, ``1.5 GB``."""
    if megabytes < MB_OF_GB:
        return f"{megabytes} MB"
    return f"{megabytes / MB_OF_GB:.4g} GB"


@register.filter
def tone(status: str) -> str:
    """``good``, ``bad``, ``quiet``, or ``busy`` for what is under way."""
    return next((name for name, statuses in TONES.items() if status in statuses), "busy")


@register.filter
def words(status: str) -> str:
    """A status as words: ``shutting_down`` is *shutting down*."""
    return status.replace("_", " ")


@register.filter
def price(dollars: float) -> str:
    """A price in dollars, with as many decimals as it needs: ``$5``, ``$0.0075``."""
    return f"${dollars:,.4f}".rstrip("0").rstrip(".")


@register.filter
def item(mapping: Any, key: Any) -> Any:
    """The value of a key that is computed: ``{{ reasons|item:verb.name }}``."""
    return mapping.get(key)
