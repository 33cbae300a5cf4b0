"""Filters of events."""

import re
from typing import Any

from django import forms
from django.db.models import BigIntegerField, Q, TextField, Value
from django.db.models.functions import Cast, Concat
from django.db.models.lookups import Contains

from accounts.entities import key_of_slug, kind_of, with_slugs
from accounts.event_names import ACTIONS, ENTITY_TYPES, NOT_HERE
from accounts.models import Event
from config.filters import (
    BooleanFilter,
    DateTimeFilter,
    Filter,
    FilterSet,
    GivenChoiceFilter,
    NumberFilter,
    PartFilter,
    PlatformFilter,
    SinceFilter,
    UntilFilter,
)
from config.filters.fields import StrictField, digits_from_json

NUMBER = re.compile("[0-9]{1,19}").fullmatch


class EntityIdField(StrictField, forms.CharField):
    """The id of an entity: a number for most kinds, a slug such as ``private/12`` for the others."""

    @staticmethod
    def from_json(value: Any) -> int | str:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError
        return value

    @classmethod
    def from_text(cls, text: str) -> int | str:
        return int(text) if NUMBER(text) else text

    @classmethod
    def part_from_json(cls, value: Any) -> str:
        return digits_from_json(value)


class EntityIdFilter(Filter):
    """A filter by the id of an event's entity.

    The table has only numbers. A number in a filter matches no kinds with slugs.
    """

    field_class = EntityIdField

    def is_value(self, value: int | str) -> Q:
        return self.among([value])

    def among(self, raws: list[Any]) -> Q:
        values = [self.value(raw) for raw in raws]
        found = [key_of_slug(value) for value in values if isinstance(value, str)]
        if None in found:
            raise self.refused()
        keys: dict[str, list[int]] = {}
        for kind, key in filter(None, found):
            keys.setdefault(kind, []).append(key)
        conditions = [Q(entity_type=kind, entity_id__in=_that_fit(those)) for kind, those in keys.items()]
        numbers = [value for value in values if not isinstance(value, str)]
        if numbers:
            conditions.append(self._of_numbers(Q(entity_id__in=_that_fit(numbers))))
        return Q(*conditions, _connector=Q.OR)

    def compares(self, operator: str, raw: Any) -> Q:
        value = self.value(raw)
        if isinstance(value, str):
            raise self.refused()
        return self._of_numbers(Q(**{f"entity_id__{operator}": value}))

    def contains(self, raw: Any) -> Q:
        """Search the id as answers show it: digits, or a slug."""
        text = self.part(raw)
        conditions = [self._of_numbers(Q(entity_id__contains=text))]
        for kind in with_slugs():
            slug = Concat(Value(kind_of(kind).prefix), Cast("entity_id", TextField()), output_field=TextField())
            conditions.append(Q(Contains(slug, text), entity_type=kind))
        return Q(*conditions, _connector=Q.OR)

    def _of_numbers(self, condition: Q) -> Q:
        return condition & ~Q(entity_type__in=with_slugs())


def _that_fit(keys: list[int]) -> list[int]:
    """Return the keys that the column can hold. No entity has any other."""
    return [key for key in keys if abs(key) <= BigIntegerField.MAX_BIGINT]


class EventFilterSet(FilterSet):
    """Filters of events of an account."""

    id = NumberFilter()
    action = PlatformFilter()
    created = DateTimeFilter()
    entity__id = EntityIdFilter("entity_id")
    entity__type = PlatformFilter("entity_type")
    read = BooleanFilter()
    seen = BooleanFilter()

    class Meta:
        model = Event


class EventListFilterSet(FilterSet):
    """The filters of the list in the browser."""

    action = GivenChoiceFilter(
        label="Action", given=[(name, meaning) for name, meaning in ACTIONS.items() if meaning != NOT_HERE]
    )
    status = GivenChoiceFilter(label="Status", given=[(status.value, status.value) for status in Event.Status])
    kind = GivenChoiceFilter(
        "entity_type",
        label="Kind of object",
        given=[(name, meaning.rstrip(".")) for name, meaning in ENTITY_TYPES.items() if meaning != NOT_HERE],
    )
    label = PartFilter("entity_label", label="Object")
    user = PartFilter("username", label="User")
    since = SinceFilter("created", label="From (UTC)")
    until = UntilFilter("created", label="To (UTC)")

    class Meta:
        model = Event
