"""Events: what happened on the account."""

import re
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, TextField, Value
from django.db.models.functions import Cast, Concat
from django.db.models.lookups import Contains
from drf_spectacular.utils import extend_schema_field
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    Field,
    FloatField,
    IntegerField,
)

from accounts.actors import Actor
from accounts.entities import key_of_slug, kind_of, shown_id, with_slugs
from accounts.event_names import ACTIONS, ENTITY_TYPES
from accounts.models import Event
from accounts.services.events import mark_read, mark_seen
from config.api.access import READ_ONLY, READ_WRITE
from config.api.fields import Computed
from config.api.filterable import Filterable, searched
from config.api.meanings import Meanings
from config.api.operations import operation
from config.api.paths import BIGGEST
from config.api.serializers import Resource
from config.api.views import ReadOnlyModelViewSet, expensive

READ = "events:read_only"


@extend_schema_field({"type": ["integer", "string"]})
class NumberOrSlug(Field):
    """An id of whichever kind the entity has."""


@extend_schema_field({"type": ["integer", "string", "null"]})
class Seconds(Field):
    """A number, though the contract's schema has it as a text, as others answer it."""


def number_or_slug(stored: str) -> int | str:
    return int(stored) if stored.isascii() and stored.isdigit() else stored


@dataclass(frozen=True, slots=True)
class ByEntityId(Filterable):
    """A number for most kinds of entity, a slug such as ``private/12`` for the others.

    The table has numbers alone: a number that a client gives is none of the kinds that have slugs.
    """

    def value(self, raw: Any) -> int:
        if isinstance(raw, bool) or not isinstance(raw, int):
            raise self.refused()
        return raw

    def plain(self, text: str) -> Any:
        return int(text) if re.fullmatch("[0-9]{1,19}", text) else text

    def equals(self, raw: Any) -> Q:
        return Q(entity_id__isnull=True) if raw is None else self.among([raw])

    def among(self, raws: list[Any]) -> Q:
        slugs = [raw for raw in raws if isinstance(raw, str)]
        found = [key_of_slug(slug) for slug in slugs]
        if None in found:
            raise self.refused()
        keys: dict[str, list[int]] = {}
        for kind, key in filter(None, found):
            keys.setdefault(kind, []).append(key)
        conditions = [Q(entity_type=kind, entity_id__in=_that_fit(those)) for kind, those in keys.items()]
        numbers = [self.value(raw) for raw in raws if not isinstance(raw, str)]
        if numbers:
            conditions.append(self._of_numbers(Q(entity_id__in=_that_fit(numbers))))
        return Q(*conditions, _connector=Q.OR)

    def compares(self, operator: str, raw: Any) -> Q:
        return self._of_numbers(Q(**{f"entity_id__{operator}": self.value(raw)}))

    def searched(self, raw: Any) -> str:
        try:
            return searched(raw)
        except ValueError:
            raise self.refused() from None

    def contains(self, raw: Any) -> Q:
        """Search the id as answers show it: digits, or a slug."""
        text = self.searched(raw)
        conditions = [self._of_numbers(Q(entity_id__contains=text))]
        for kind in with_slugs():
            slug = Concat(Value(kind_of(kind).prefix), Cast("entity_id", TextField()), output_field=TextField())
            conditions.append(Q(Contains(slug, text), entity_type=kind))
        return Q(*conditions, _connector=Q.OR)

    def _of_numbers(self, condition: Q) -> Q:
        return condition & ~Q(entity_type__in=with_slugs())


def _that_fit(keys: list[int]) -> list[int]:
    """Those that the column can hold: the others are nobody's."""
    return [key for key in keys if abs(key) <= BIGGEST]


class EntityId(NumberOrSlug):
    """The id of an event's entity."""

    filterable = ByEntityId


class EventEntity(Resource):
    """What an event is about."""

    id = Computed(
        EntityId(),
        lambda key, kind: shown_id(kind, key),
        "entity_id",
        "entity_type",
        help_text="The entity's number; of images a slug, `private/12`.",
    )
    label = CharField(source="entity_label", help_text="Its name when the event came about.")
    type = ChoiceField(
        list(ENTITY_TYPES), source="entity_type", help_text=Meanings("What kind of thing it is.", ENTITY_TYPES)
    )
    url = CharField(source="entity_url")


class SecondaryEntity(Resource):
    """What else takes part in an event."""

    id = Computed(
        NumberOrSlug(),
        number_or_slug,
        "secondary_id",
        help_text="A number, or for kernels, images and the like a text.",
    )
    label = CharField(source="secondary_label", help_text="Its name when the event came about.")
    type = CharField(source="secondary_type", help_text="What kind of thing it is.")
    url = CharField(source="secondary_url")


class EventResource(Resource):
    """Something that happened on the account."""

    id = IntegerField(help_text="Grows with time: a later event has a larger one.")
    action = ChoiceField(list(ACTIONS), help_text=Meanings("What happened.", ACTIONS))
    created = DateTimeField(help_text="When it began, in UTC.")
    duration = FloatField(
        allow_null=True, help_text="Seconds of work so far, or in all; null for what was done at once."
    )
    entity = EventEntity(
        source="*", allow_null=True, help_text="What it happened to; null where it is about nothing in particular."
    )
    secondary_entity = SecondaryEntity(
        source="*", allow_null=True, help_text="What else took part, such as an image or a profile; null without."
    )
    percent_complete = IntegerField(
        allow_null=True,
        help_text="How far it is, 0 to 100. One that failed keeps the percent it stopped at; null for "
        "what was done at once.",
    )
    rate = CharField(allow_null=True, help_text="How fast it goes, of migrations and resizes; else null.")
    read = BooleanField(help_text="Whether somebody has marked it as read.")
    seen = BooleanField(help_text="Whether somebody has marked it, or a later one, as seen.")
    status = ChoiceField(
        Event.Status.choices,
        help_text=Meanings(
            "How far it is.",
            {
                "scheduled": "It waits for its turn.",
                "started": "It goes on.",
                "finished": "It is done.",
                "failed": "It did not work; `message` says why.",
                "notification": "It was done at once.",
            },
        ),
    )
    time_remaining = Computed(
        Seconds(),
        lambda seconds: seconds,
        "time_remaining",
        ordered_by="time_remaining",
        help_text="Seconds it will take, of migrations and resizes; 0 once they are done, else null.",
    )
    username = CharField(help_text="The user who did it; empty where the platform did.")
    message = CharField(allow_null=True, help_text="What else there is to say; mostly empty.")

    class Meta:
        read_only = True
        filterable = ("id", "action", "created", "entity.id", "entity.type", "read", "seen")


class EventViewSet(ReadOnlyModelViewSet[Actor, Event]):
    """Events of the last 90 days, newest first. Restricted users see what their grants let them."""

    serializer_class = EventResource
    queryset = Event.objects.all()
    required_scopes = READ
    required_grant = READ_ONLY
    ordering = ("-id",)

    @action(detail=True, methods=["post"])
    @operation(READ, READ_WRITE)
    @expensive
    def seen(self, request: Request, id: int) -> Response:
        """Mark an event and all before it as seen.

        Of those that the acting user may change. All users of the account see it.
        """
        mark_seen(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(READ, READ_ONLY)
    def read(self, request: Request, id: int) -> Response:
        """Mark one event as read.

        All users of the account see that it is read. It marks no other event.
        """
        mark_read(self.get_object())
        return Response({})
