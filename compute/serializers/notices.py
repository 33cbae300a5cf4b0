"""Notifications and maintenance on the wire."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Case, TextField, Value, When
from rest_framework.serializers import CharField, ChoiceField, DateTimeField, IntegerField

from compute.services import notices
from config import word
from config.api.fields import Annotated, Computed, Constant, PathField
from config.api.meanings import Meanings
from config.api.serializers import Resource


class NoticeEntity(Resource):
    """The instance of a maintenance."""

    label = CharField(source="notice_label", help_text="The instance's label.")
    id = IntegerField(source="notice_id", help_text="The instance's id.")
    type = Constant(CharField(), "compute", help_text="What kind of thing it is: always `compute`.")
    url = PathField(source="notice_url")


class MaintenanceResource(Resource):
    """Work on a host that concerns an instance."""

    type = ChoiceField(
        ["reboot", "cold_migration", "live_migration"],
        source="notice_type",
        help_text=Meanings(
            "What is done.",
            {
                "reboot": "The host is worked on; the compute is off meanwhile.",
                "cold_migration": "The compute is moved to another host, shut down for that.",
                "live_migration": "Not shown by this platform.",
            },
        ),
    )
    status = ChoiceField(
        ["pending", "started"],
        source="notice_status",
        help_text=Meanings(
            "How far it is.",
            {
                "pending": "It is due at `when`.",
                "started": "It goes on.",
            },
        ),
    )
    reason = CharField(source="notice_reason", help_text="Why; may be empty.")
    when = DateTimeField(source="notice_when", help_text="When it is due, or since when it goes on, in UTC.")
    entity = NoticeEntity(source="*", help_text="The instance that it concerns.")

    class Meta:
        read_only = True


@dataclass(frozen=True, slots=True)
class Topic:
    """The texts of one kind of notification. `{}` in the message is the label of its subject."""

    type: str
    severity: str
    label: str
    message: str
    entity: str = "compute"

    def about(self, label: str) -> str:
        """Return the message about a subject with this label."""
        return self.message.format(label)


TOPICS = {
    notices.SCHEDULED: Topic(
        "migration_scheduled",
        "major",
        "A migration is scheduled.",
        "{} is going to be moved to another host, shut down for the time that takes. You may start this earlier.",
    ),
    notices.DUE: Topic(
        "migration_pending",
        "major",
        "A migration is pending.",
        "{} is about to be moved to another host, shut down for the time that takes.",
    ),
    notices.MOVING: Topic(
        "maintenance",
        "major",
        "A migration is under way.",
        "{} is being moved to another host.",
    ),
    notices.MAINTENANCE: Topic(
        "maintenance",
        "major",
        "Its host is under maintenance.",
        "{} is stopped while its host is under maintenance.",
    ),
    notices.OUTAGE: Topic(
        "outage",
        "critical",
        "There is an outage in a region.",
        "Services in {} may not be available at the moment.",
        entity="region",
    ),
    notices.HOST_OUTAGE: Topic(
        "outage",
        "critical",
        "Its host does not answer.",
        "{} may not be available at the moment: its host does not answer. Changes continue when the host answers.",
    ),
}
TYPES = (
    "migration_scheduled", "migration_imminent", "migration_pending", "reboot_scheduled", "outage", "payment_due",
    "ticket_important", "ticket_abuse", "notice", "maintenance", "promotion",
)  # fmt: skip


def entity_of(topic: str, key: int | None, label: str, url: str) -> dict[str, Any]:
    """Return the subject of a notification. A region has no numeric id, and its label is its id."""
    about = {"label": label, "type": word.on_wire(TOPICS[topic].entity), "url": word.path_on_wire(url)}
    return about if key is None else {"id": key, **about}


class NotificationEntity(Resource):
    """The subject of a notification: an instance or a region."""

    id = IntegerField(required=False, help_text="The id of the instance; regions have none.")
    label = CharField(help_text="Its label; of a region its id.")
    type = CharField(help_text="What kind of thing it is: `compute` or `region`.")
    url = CharField()

    class Meta:
        sometimes = ("id",)


def _of_topic(attribute: str) -> Case:
    """Return an attribute of a notification's topic in SQL, so that the list can be ordered by the attribute."""
    texts = (When(notice_topic=name, then=Value(getattr(topic, attribute))) for name, topic in TOPICS.items())
    return Case(*texts, output_field=TextField())


class NotificationResource(Resource):
    """A notice for the account, such as an outage or a scheduled migration."""

    entity = Computed(
        NotificationEntity(),
        entity_of,
        "notice_topic",
        "notice_id",
        "notice_label",
        "notice_url",
        help_text="What it is about.",
    )
    label = Annotated(CharField(), _of_topic("label"), help_text="What it is, in a few words.")
    message = Computed(
        CharField(),
        lambda topic, label: TOPICS[topic].about(label),
        "notice_topic",
        "notice_label",
        help_text="What it is, in a sentence.",
    )
    body = Computed(
        CharField(allow_null=True),
        lambda body: body or None,
        "notice_body",
        help_text="What else there is to say; null without.",
    )
    type = Annotated(
        ChoiceField(TYPES),
        _of_topic("type"),
        help_text=Meanings(
            "What kind of notification it is.",
            {
                "migration_scheduled": "The instance will be moved to another host.",
                "migration_imminent": "Not shown by this platform.",
                "migration_pending": "The instance is about to be moved.",
                "reboot_scheduled": "Not shown by this platform.",
                "outage": "A region has an outage, or the instance's host does not answer.",
                "payment_due": "Not shown by this platform.",
                "ticket_important": "Not shown by this platform.",
                "ticket_abuse": "Not shown by this platform.",
                "notice": "Not shown by this platform.",
                "maintenance": "Work on the instance's host goes on.",
                "promotion": "Not shown by this platform.",
            },
        ),
    )
    severity = Annotated(
        ChoiceField(["minor", "major", "critical"]),
        _of_topic("severity"),
        help_text=Meanings(
            "How much it matters.",
            {
                "minor": "For your information.",
                "major": "Something is affected for a while.",
                "critical": "Something may not work.",
            },
        ),
    )
    when = DateTimeField(
        source="notice_when",
        allow_null=True,
        help_text="When it is due, or since when it is so, in UTC; null where unknown.",
    )
    until = Constant(DateTimeField(allow_null=True), None, help_text="Always null: no end is known.")

    class Meta:
        read_only = True
