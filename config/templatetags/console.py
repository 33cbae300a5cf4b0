"""Tags and filters of pages: times, sizes, statuses, and parts of forms."""

from datetime import datetime
from typing import Any

from django import template
from django.forms import BoundField, CheckboxInput, CheckboxSelectMultiple, RadioSelect, Select
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config import word
from config.display.quantities import dollars, duration, price, size, traffic
from config.display.statuses import pill, status_counts, status_pill
from config.display.time_zones import zone_of
from config.pages.reasons import message_on_page, text_on_page

register = template.Library()
register.filter("size", size)
register.filter("duration", duration)
register.filter("price", price)
register.filter("dollars", dollars)
register.filter("traffic", traffic)
register.filter("pill", pill)
register.filter("status_pill", status_pill)
register.filter("status_counts", status_counts)


@register.simple_tag(takes_context=True)
def moment(context: template.Context, value: datetime | None, empty: str = "never") -> SafeString | str:
    """Show a time in the time zone of the user, with UTC on hover: ``{% moment event.created %}``."""
    if value is None:
        return empty
    zone = zone_of(getattr(context.get("user"), "timezone", "") or "UTC")
    local = value.astimezone(zone)
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        f"{value:%Y-%m-%dT%H:%M:%SZ}", f"{value:%Y-%m-%d %H:%M:%S}", f"{local:%Y-%m-%d %H:%M}",
    )  # fmt: skip


@register.filter
def with_word(scopes: str) -> str:
    """Return names of the platform, such as scopes, as clients know them (`config.word`)."""
    return word.on_wire(scopes)


@register.filter
def item(mapping: Any, key: Any) -> Any:
    """Return the value of a key that is computed: ``{{ reasons|item:verb.name }}``."""
    return mapping.get(key)


@register.simple_tag
def icon(name: str, extra: str = "") -> SafeString:
    """Return an icon of ``frame/icons.svg``. The text next to it has the same meaning: ``{% icon "plus" %}``."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        extra,
        static("frame/icons.svg"),
        name,
    )


@register.filter
def styled(field: BoundField) -> SafeString:
    """Return a form field's input with the classes of Bootstrap. Django links help text and errors to it."""
    widget = field.field.widget
    if isinstance(widget, CheckboxInput | CheckboxSelectMultiple | RadioSelect):
        name = "form-check-input"
    else:
        name = "form-select" if isinstance(widget, Select) else "form-control"
    given = widget.attrs.get("class", "")
    return field.as_widget(attrs={"class": f"{name} {given}{' is-invalid' if field.errors else ''}".strip()})


@register.filter
def on_page(reason: str) -> str:
    """Return a reason of a service in the words of pages."""
    return text_on_page(reason)


@register.filter
def event_message(event: Any) -> str:
    """Return the message of an event in the words of pages. Texts of customers stay as they are."""
    message: str = event.message or ""
    return message if event.has_customer_message else message_on_page(message)


@register.filter
def is_check(field: BoundField) -> bool:
    """Tell whether a field is one checkbox, whose label comes after it."""
    return isinstance(field.field.widget, CheckboxInput)
