"""Sizes that staff enter and read in GB, and that columns store in MB."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

MB = 1024
"""The MB in a GB."""
MAX_GB = (2**31 - 1) // MB
"""The maximum number of GB in a column of MB."""


class GigabytesField(forms.DecimalField):
    """A field in GB for a column in MB. Fractions are allowed if they are whole MB: 0.5 is 512 MB."""

    def __init__(self, **kwargs: Any):
        super().__init__(**{"min_value": 0, "max_value": MAX_GB, "max_digits": 20, "decimal_places": 10} | kwargs)

    def prepare_value(self, value: Any) -> Any:
        """Convert a stored number of MB to GB. Input of the user, which is text, is shown unchanged."""
        if not isinstance(value, int):
            return value
        text = f"{Decimal(value) / MB:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text

    def clean(self, value: Any) -> Any:
        """Return the input as a whole number of MB, or None for empty input."""
        gigabytes = super().clean(value)
        if gigabytes is None:
            return None
        megabytes = gigabytes * MB
        if megabytes != int(megabytes):
            raise forms.ValidationError("Type a size that is a whole number of MB, such as 0.5, 0.25 or 1.75.")
        return int(megabytes)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.to_python(self.prepare_value(initial)), data)

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return super().widget_attrs(widget) | {"step": "any"}


class SizesMixin(admin.ModelAdmin):
    """Shows a column of MB in GB.

    A read-only page has the display ``<column>_in_gb`` for each of `sizes`. The page's form has a `GigabytesField`.
    """

    sizes: tuple[str, ...] = ()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        return (*super().get_readonly_fields(request, obj), *(f"{name}_in_gb" for name in self.sizes))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        readonly = self.get_readonly_fields(request, obj)
        typed = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        shown = {name: f"{name}_in_gb" for name in self.sizes if not typed or name in readonly}
        return [
            (title, {**options, "fields": [_renamed(line, shown) for line in options["fields"]]})
            for title, options in super().get_fieldsets(request, obj)
        ]


def _renamed(line: Any, names: dict[str, str]) -> Any:
    """Rename the fields in a line of a fieldset. A line is one field's name, or several."""
    return names.get(line, line) if isinstance(line, str) else tuple(names.get(name, name) for name in line)
