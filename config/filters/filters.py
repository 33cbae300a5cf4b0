"""The filters of a `FilterSet`. Each compares one column, and compiles values and operators to `Q`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

import django_filters
from django.db.models import CharField, Expression, F, Func, Lookup, Q, QuerySet, Value
from django.db.models.functions import Replace
from django.db.models.lookups import Contains, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual

from config import word
from config.environment.words import NEUTRAL
from config.errors import Invalid
from config.filters import fields, lookups

__all__ = ["lookups"]  # registered by the import, for the conditions below

OPERATORS = frozenset({"gt", "gte", "lt", "lte", "neq", "contains"})
NUMBER_BOUND = 2**31
"""The bound of numbers that fit any column that can be filtered."""
FIELD = "X-Filter"


def refuse(reason: str) -> Invalid:
    return Invalid(reason, FIELD)


class Filter(django_filters.Filter):
    """Base of the filters: a column that is equal to a value, or compared with it by an operator.

    `field_name` is the ORM path of the column, by default the name of the filter. `field_class` reads the values.
    `name` is the name in JSON (``entity.id``), which reasons contain. The filter set sets it.
    """

    field_class: ClassVar[type[fields.StrictField]]
    operators: ClassVar[frozenset[str]] = OPERATORS
    """The supported operators, without their plus sign."""
    field_name: str
    name: str = ""

    def refused(self) -> Invalid:
        return refuse(f"{self.name} is not valid")

    def value(self, raw: Any) -> Any:
        """Read a JSON value. Raises `Invalid` if it has another type."""
        try:
            return self.field_class.from_json(raw)
        except (ValueError, OverflowError):
            raise self.refused() from None

    def plain(self, text: str) -> Any:
        """Read a text of the query string. Raises `Invalid` if it is no value of the type."""
        try:
            return self.field_class.from_text(text)
        except (ValueError, KeyError, OverflowError):
            raise self.refused() from None

    def part(self, raw: Any) -> str:
        """Read the value of ``+contains``: a part of a text, of a number's digits, or of an address."""
        try:
            return self.field_class.part_from_json(raw)
        except ValueError:
            raise self.refused() from None

    def is_value(self, value: Any) -> Q:
        """Return the condition that the column equals a value that was read."""
        return Q(**{self.field_name: value})

    def equals(self, raw: Any) -> Q:
        """Return the condition for a bare JSON value."""
        return Q(**{f"{self.field_name}__isnull": True}) if raw is None else self.is_value(self.value(raw))

    def among(self, raws: list[Any]) -> Q:
        """Return the condition that the column equals any of the values.

        It is one condition for all: PostgreSQL looks up each row in the values. It would try hundreds of conditions
        one by one.
        """
        return Q(**{f"{self.field_name}__in": [self.value(raw) for raw in raws]})

    def contains(self, raw: Any) -> Q:
        return Q(**{f"{self.field_name}__contains": self.part(raw)})

    def compares(self, operator: str, raw: Any) -> Q:
        return Q(**{f"{self.field_name}__{operator}": self.value(raw)})

    def matches(self, operator: str, raw: Any) -> Q:
        """Return the condition for one operator, without its plus sign.

        ``neq`` also matches rows without a value.
        """
        if operator not in self.operators:
            raise refuse(f"Cannot use +{operator} on {self.name}")
        if operator == "neq":
            return ~self.equals(raw)
        return self.contains(raw) if operator == "contains" else self.compares(operator, raw)

    def filter(self, qs: QuerySet, value: Any) -> QuerySet:
        """Filter by a cleaned value of a form. None is an empty input."""
        return qs if value is None else qs.filter(self.is_value(value))


class CharFilter(Filter):
    """A text. Upper and lower case differ, also for ``+contains``."""

    field_class = fields.CharField


class PlatformValues(Filter):
    """Reads values that only the platform writes. Clients send them with the word of the installation."""

    def value(self, raw: Any) -> str:
        return word.read(super().value(raw))

    def plain(self, text: str) -> str:
        return word.read(super().plain(text))


class PlatformFilter(PlatformValues, CharFilter):
    """A text that only the platform writes. Clients send it with the word of the installation (`config.word`)."""

    def contains(self, raw: Any) -> Q:
        """Search the text as answers show it: a part of the word is found too."""
        condition = super().contains(raw)
        return Q(Contains(shown(F(self.field_name)), self.part(raw))) if word.IS_SET else condition

    def compares(self, operator: str, raw: Any) -> Q:
        """Compare the text as answers show it."""
        if not word.IS_SET:
            return super().compares(operator, raw)
        return Q(COMPARISONS[operator](shown(F(self.field_name)), CharFilter.value(self, raw)))


COMPARISONS: Mapping[str, type[Lookup]] = {
    "gt": GreaterThan,
    "gte": GreaterThanOrEqual,
    "lt": LessThan,
    "lte": LessThanOrEqual,
}


def shown(text: Expression | F) -> Expression | F:
    """Return the text of a column as answers show it, with the word of the installation."""
    for neutral in (f"{NEUTRAL}s", NEUTRAL):
        for each in (neutral.capitalize(), neutral):
            text = Replace(text, Value(each), Value(word.on_wire(each)))
    return text


class CaselessFilter(Filter):
    """A text that the column stores in lower case, compared without regard to case."""

    field_class = fields.CaselessField


class AddressFilter(Filter):
    """An IPv4 or IPv6 address."""

    field_class = fields.AddressField


class DecimalFilter(Filter):
    """A number that may have a fraction."""

    field_class = fields.DecimalField


class NumberFilter(Filter):
    """A whole number. A number that its column cannot hold matches nothing."""

    field_class = fields.IntegerField

    def among(self, raws: list[Any]) -> Q:
        values = [self.value(raw) for raw in raws]
        together = [value for value in values if -NUMBER_BOUND <= value < NUMBER_BOUND]
        if len(together) == len(values):
            return Q(**{f"{self.field_name}__in": together})
        # Django knows only of a single number that it may be too large for its column.
        conditions = [self.is_value(value) for value in values if not -NUMBER_BOUND <= value < NUMBER_BOUND]
        if together:
            conditions.append(Q(**{f"{self.field_name}__in": together}))
        return Q(*conditions, _connector=Q.OR)


class BooleanFilter(Filter):
    """True or false, which have no order."""

    field_class = fields.BooleanField
    operators = frozenset({"neq"})


class DateTimeFilter(Filter):
    """A time, which stands for its whole second: columns keep microseconds that clients never see."""

    field_class = fields.DateTimeField
    operators = OPERATORS - {"contains"}

    def is_value(self, value: datetime) -> Q:
        return Q(**{f"{self.field_name}__gte": value, f"{self.field_name}__lt": value + fields.SECOND})

    def among(self, raws: list[Any]) -> Q:
        return Q(*map(self.equals, raws), _connector=Q.OR)

    def compares(self, operator: str, raw: Any) -> Q:
        value = self.value(raw)
        if operator in ("gt", "lte"):
            operator, value = {"gt": "gte", "lte": "lt"}[operator], value + fields.SECOND
        return Q(**{f"{self.field_name}__{operator}": value})


class ArrayFilter(Filter):
    """An array of texts. The condition applies to any of its elements."""

    field_class = fields.CharField
    operators = frozenset({"neq", "contains"})

    def is_value(self, value: Any) -> Q:
        return Q(**{f"{self.field_name}__contains": [value]})

    def among(self, raws: list[Any]) -> Q:
        return Q(**{f"{self.field_name}__overlap": [self.value(raw) for raw in raws]})

    def contains(self, raw: Any) -> Q:
        return Q(**{f"{self.field_name}__any_contains": self.part(raw)})


class PlatformArrayFilter(PlatformValues, ArrayFilter):
    """An array of texts that only the platform writes. Clients send them with the word of the installation."""

    def contains(self, raw: Any) -> Q:
        """Search the texts as answers show them."""
        condition = super().contains(raw)
        if not word.IS_SET:
            return condition
        joined = Func(F(self.field_name), Value("\n"), function="array_to_string", output_field=CharField())
        return Q(Contains(shown(joined), self.part(raw)))


class LabelsFilter(ArrayFilter):
    """An array of JSON objects. The condition applies to the ``label`` of any of them. It is never null."""

    def is_value(self, value: Any) -> Q:
        return Q(**{f"{self.field_name}__contains": [{"label": value}]})

    def equals(self, raw: Any) -> Q:
        return self.is_value(self.value(raw))

    def among(self, raws: list[Any]) -> Q:
        return Q(*map(self.equals, raws), _connector=Q.OR)
