"""Formats for single values: links, tags, times and durations."""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.admin.utils import quote
from django.db.models import Model
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.timezone import now

NOTHING = SafeString('<span class="quiet">–</span>')


def page_of(obj: Model) -> str:
    """Return the address of an object's admin page."""
    meta = obj._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[quote(obj.pk)])


def list_of(model: type[Model], **filters: Any) -> str:
    """Return the address of a model's list, filtered."""
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{address}?{urlencode(filters)}" if filters else address


def link(obj: Model | None, text: str | None = None) -> SafeString:
    if obj is None:
        return NOTHING
    return format_html('<a href="{}">{}</a>', page_of(obj), str(obj) if text is None else text)


def span(time: timedelta) -> str:
    """Format a duration in at most two units: ``0.4 s``, ``45 s``, ``3 min``, ``2 h 5 min``, ``3 d 4 h``."""
    exact = max(0.0, time.total_seconds())
    if exact < 10:
        return f"{exact:.1f} s"
    seconds = int(exact)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if not minutes:
        return f"{seconds} s"
    if not hours:
        return f"{minutes} min"
    if not days:
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    return f"{days} d {hours % 24} h" if hours % 24 else f"{days} d"


def moment(time: datetime | None) -> SafeString:
    """Format a time in UTC, to the second, with how long ago it was (or how soon it will be)."""
    if time is None:
        return NOTHING
    return _time(time, distance(time), exact(time))


def age(time: datetime) -> SafeString:
    """Format how long ago a time was: ``3 h 5 min``. The tooltip has the time itself."""
    return _time(time, exact(time), span(now() - time))


def ago(time: datetime | None) -> SafeString:
    """Format how long ago, or how soon, `time` is, with the time itself as a tooltip: for lists."""
    return NOTHING if time is None else _time(time, exact(time), distance(time))


def moment_ago(time: datetime | None) -> SafeString:
    """Format `time`, and how long ago, or how soon, it is."""
    return NOTHING if time is None else format_html("{}, {}", moment(time), distance(time))


def exact(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}"


def distance(time: datetime) -> str:
    """Return how long ago a time was, or how soon it will be: ``3 min ago``, ``in 2 h 5 min``."""
    current = now()
    return f"{span(current - time)} ago" if time <= current else f"in {span(time - current)}"


def _time(time: datetime, title: str, text: str) -> SafeString:
    return format_html('<time datetime="{}" title="{}">{}</time>', time.isoformat(), title, text)


def rendered(template: str, **context: Any) -> SafeString:
    """Return a component of the customer's pages for a cell or a field."""
    return SafeString(render_to_string(template, context))


def words(text: str) -> SafeString:
    """Return a text of a user with its line breaks."""
    return format_html('<div class="words">{}</div>', text)


def tags(names: Iterable[str]) -> SafeString:
    """Return tags, or other names from a list, as labels."""
    return format_html_join(" ", '<span class="quiet-badge">{}</span>', ((name,) for name in names)) or NOTHING


def pretty(data: Any) -> SafeString:
    """Return indented JSON, for people to read."""
    return format_html("<pre>{}</pre>", json.dumps(data, indent=2, ensure_ascii=False, default=str))


def lines(parts: Iterable[Any]) -> SafeString:
    """Return each part on a line of its own, without empty parts."""
    return format_html_join("", "<div>{}</div>", ((part,) for part in parts if part))
