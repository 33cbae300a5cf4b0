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
        help_text="The entity's number; of images a slug, `private/12`.",
    )
    label = CharField(source="entity_label", help_text="Its name when the event came about.")
    type = ChoiceField(
        list(ENTITY_TYPES), source="entity_type", help_text=Meanings("What kind of thing it is.", ENTITY_TYPES)
    )
    url = PathField(source="entity_url")


class SecondaryEntity(Resource):
    """Another entity that takes part in an event, such as an image."""

    id = Computed(
        NumberOrSlug(),
        number_or_slug,
        "secondary_id",
        help_text="A number, or for kernels, images and the like a text.",
    )
    label = CharField(source="secondary_label", help_text="Its name when the event came about.")
    type = PlatformTextField(source="secondary_type", help_text="What kind of thing it is.")
    url = PathField(source="secondary_url")


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
    message = _message(help_text="What else there is to say; mostly empty.")

    class Meta:
        read_only = True
