"""Filters of pages. Their inputs suit people, who type a part of a label and choose among the existing values."""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from functools import cache
from typing import Any

from django.db.models import Func, Q, QuerySet
from django.forms import Field, Select
from django.utils.choices import CallableChoiceIterator

from config.filters import fields
from config.filters.filters import ArrayFilter, CharFilter, Filter

Choice = tuple[str, str]
"""A value, and its words in a list of options."""


class PartFilter(CharFilter):
    """A part of a text, in any case."""

    def is_value(self, value: Any) -> Q:
        return Q(**{f"{self.field_name}__icontains": value.strip()})


class ChoiceFilter(CharFilter):
    """One of the values that the rows of the page have. One query for the options, when the form is rendered.

    `words` is the ORM path of the options' words if they differ from the values: ``type__label``. Another value in
    the address matches no row. It stays among the options, so that people see the filter's value.
    """

    def __init__(self, *args: Any, words: str = "", **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.words = words

    @property
    def field(self) -> Field:
        # django-filter makes the field once for each filter set.
        if not hasattr(self, "_field"):
            options = CallableChoiceIterator(cache(self.options))  # Django reads them more than once
            self._field = self.field_class(label=self.label, required=False, widget=Select(choices=options))
        return self._field

    def options(self) -> list[Choice]:
        found = list(self.choices(self.parent.queryset))
        wanted = self.parent.data.get(self.name)
        if wanted and wanted not in dict(found):
            found.append((wanted, wanted))
        return [("", "any"), *found]

    def choices(self, rows: QuerySet) -> Iterable[Choice]:
        """Return the values of `rows`, in the order of their words."""
        words = self.words or self.field_name
        pairs = rows.order_by(words).values_list(self.field_name, words).distinct()
        return pairs.exclude(**{self.field_name: None})


class StatusFilter(ChoiceFilter):
    """A status, in the words of the badges."""

    def choices(self, rows: QuerySet) -> Iterable[Choice]:
        return [(status, status.replace("_", " ")) for status, _ in super().choices(rows)]


class ElementFilter(ArrayFilter, ChoiceFilter):
    """An array, such as the tags, that contains the chosen value."""

    def choices(self, rows: QuerySet) -> Iterable[Choice]:
        elements = Func(self.field_name, function="unnest")
        found = rows.order_by().values_list(elements, flat=True).distinct()
        return [(each, each) for each in sorted(found, key=str.casefold)]


class GivenChoiceFilter(ChoiceFilter):
    """One of the values of `given`, which are pairs of value and words. Another value matches no row."""

    def __init__(self, *args: Any, given: Iterable[Choice], **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.given = list(given)

    def choices(self, rows: QuerySet) -> Iterable[Choice]:
        return self.given

    def is_value(self, value: Any) -> Q:
        return super().is_value(value) if value in dict(self.given) else Q(pk__in=[])


class SinceFilter(Filter):
    """A day in UTC: the rows of this day and of later days."""

    field_class = fields.DayField

    def is_value(self, value: Any) -> Q:
        return Q(**{f"{self.field_name}__gte": datetime.combine(value, time(), UTC)})


class UntilFilter(Filter):
    """A day in UTC: the rows of this day and of earlier days."""

    field_class = fields.DayField

    def is_value(self, value: Any) -> Q:
        return Q(**{f"{self.field_name}__lt": datetime.combine(value + timedelta(days=1), time(), UTC)})
