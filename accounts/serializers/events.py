"""Serializers of events."""

from drf_spectacular.utils import extend_schema_field
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    Field,
    FloatField,
    IntegerField,
)

from accounts.entities import shown_id
from accounts.event_names import ACTIONS, ENTITY_TYPES, message_on_wire
from accounts.models import Event
from config import word
from config.api.fields import Computed, PathField, PlatformTextField
from config.api.meanings import Meanings
from config.api.serializers import Resource


@extend_schema_field({"type": ["integer", "string"]})
class NumberOrSlug(Field):
    """An id in the type that its entity has: a number or a text."""


@extend_schema_field({"type": ["integer", "string", "null"]})
class Seconds(Field):
    """A number of seconds. The contract's schema declares a text, but other implementations return a number."""


def number_or_slug(stored: str) -> int | str:
    if stored.isascii() and stored.isdigit():
        return int(stored)
    return word.slug_on_wire(stored) if word.IS_SET else stored


def _message(help_text: str) -> Field:
    """Return the field of the message, which is a plain column if no word is set (`config.word`)."""
    if not word.IS_SET:
        return CharField(allow_null=True, help_text=help_text)
    child = CharField(allow_null=True)
    return Computed(child, message_on_wire, "action", "message", ordered_by="message", help_text=help_text)


class EventEntity(Resource):
    """The entity that an event is about."""

    id = Computed(
        NumberOrSlug(),
        lambda key, kind: shown_id(kind, key),
        "entity_id",
        "entity_type",
        help_text="The entity's id: a number, or a slug such as `private/12` for images.",
    )
    label = CharField(source="entity_label", help_text="The name of the entity at the time of the event.")
    type = ChoiceField(
        list(ENTITY_TYPES), source="entity_type", help_text=Meanings("The kind of the entity.", ENTITY_TYPES)
    )
    url = PathField(source="entity_url")


class SecondaryEntity(Resource):
    """Another entity that takes part in an event, such as an image."""

    id = Computed(
        NumberOrSlug(),
        number_or_slug,
        "secondary_id",
        help_text="The entity's id: a number, or a text for kernels and images.",
    )
    label = CharField(source="secondary_label", help_text="The name of the entity at the time of the event.")
    type = PlatformTextField(source="secondary_type", help_text="The kind of the entity.")
    url = PathField(source="secondary_url")


class EventResource(Resource):
    """A change on the account, or a failed attempt."""

    id = IntegerField(help_text="The id of the event. A later event has a larger id.")
    action = ChoiceField(list(ACTIONS), help_text=Meanings("The action of the event.", ACTIONS))
    created = DateTimeField(help_text="The time at which the event began, in UTC.")
    duration = FloatField(
        allow_null=True,
        help_text="The duration of the work so far or in total, in seconds. Null for a notification.",
    )
    entity = EventEntity(
        source="*", allow_null=True, help_text="The entity that the event is about. Null if there is none."
    )
    secondary_entity = SecondaryEntity(
        source="*",
        allow_null=True,
        help_text="The second entity, such as an image or a profile. Null if there is none.",
    )
    percent_complete = IntegerField(
        allow_null=True,
        help_text="The progress, 0 to 100. A failed event keeps the progress at which it stopped. Null for "
        "a notification.",
    )
    rate = CharField(
        allow_null=True, help_text="The transfer rate of a migration or resize. Null for other events."
    )
    read = BooleanField(help_text="Whether the event is marked as read.")
    seen = BooleanField(help_text="Whether this event or a later one is marked as seen.")
    status = ChoiceField(
        Event.Status.choices,
        help_text=Meanings(
            "The status of the event.",
            {
                "scheduled": "The work is queued.",
                "started": "The work is in progress.",
                "finished": "The work is complete.",
                "failed": "The work failed. `message` has the reason.",
                "notification": "The change had an immediate effect.",
            },
        ),
    )
    time_remaining = Computed(
        Seconds(),
        lambda seconds: seconds,
        "time_remaining",
        ordered_by="time_remaining",
        help_text="The remaining time of a migration or resize, in seconds. 0 after it finishes. Null for "
        "other events.",
    )
    username = CharField(help_text="The user who caused the event. Empty if the platform caused it.")
    message = _message(help_text="More information. Usually empty.")

    class Meta:
        read_only = True
