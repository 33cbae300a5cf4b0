"""Events: what happened on the account."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework.request import Request
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
from accounts.event_names import ACTIONS, ENTITY_TYPES
from accounts.models import Event
from accounts.services.events import mark_read, mark_seen
from config.api.access import READ_ONLY, READ_WRITE
from config.api.fields import Computed
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

READ = "events:read_only"


@extend_schema_field({"oneOf": [{"type": "integer"}, {"type": "string"}]})
class NumberOrSlug(Field):
    """An id of whichever kind the entity has."""


@extend_schema_field({"oneOf": [{"type": "integer"}, {"type": "string"}], "nullable": True})
class Seconds(Field):
    """A number, though the contract's schema has it as a text, as others answer it."""


def number_or_slug(stored: str) -> int | str:
    return int(stored) if stored.isascii() and stored.isdigit() else stored


class EventEntity(Resource):
    id = IntegerField(source="entity_id")
    label = CharField(source="entity_label")
    type = ChoiceField(ENTITY_TYPES, source="entity_type")
    url = CharField(source="entity_url")


class SecondaryEntity(Resource):
    id = Computed(NumberOrSlug(), number_or_slug, "secondary_id")
    label = CharField(source="secondary_label")
    type = CharField(source="secondary_type")
    url = CharField(source="secondary_url")


class EventResource(Resource):
    id = IntegerField()
    action = ChoiceField(ACTIONS)
    created = DateTimeField()
    duration = FloatField(allow_null=True, help_text="Seconds of work; null for what was instant.")
    entity = EventEntity(source="*", allow_null=True, help_text="What it happened to.")
    secondary_entity = SecondaryEntity(source="*", allow_null=True, help_text="What else took part.")
    percent_complete = IntegerField(allow_null=True, help_text="Null for what was instant.")
    rate = CharField(allow_null=True, help_text="Of migrations and resizes.")
    read = BooleanField()
    seen = BooleanField()
    status = ChoiceField(Event.Status.choices)
    time_remaining = Computed(
        Seconds(), lambda seconds: seconds, "time_remaining", help_text="Of migrations and resizes, in seconds."
    )
    username = CharField(help_text="Who did it; empty for the platform itself.")
    message = CharField(allow_null=True)

    class Meta:
        read_only = True
        filterable = ("id", "action", "created", "entity.id", "entity.type")


class EventViewSet(ResourceViewSet[Actor, Event]):
    """Events of the last 90 days, newest first. Restricted users see what their grants let them."""

    resource = EventResource
    ordering = ("-id",)
    scopes = dict.fromkeys(("list", "retrieve", "seen", "read"), READ)
    grants = {"list": READ_ONLY, "retrieve": READ_ONLY, "seen": READ_WRITE, "read": READ_ONLY}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Event]:
        return Event.objects.visible_to(actor)

    def seen(self, request: Request, id: int) -> JSONResponse:
        """Mark an event and all before it as seen."""
        mark_seen(self.actor, self.get_entity())
        return JSONResponse()

    def read(self, request: Request, id: int) -> JSONResponse:
        """Mark one event as read."""
        mark_read(self.get_entity())
        return JSONResponse()
