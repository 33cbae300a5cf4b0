"""Serializers of notifications and maintenance."""

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
    type = Constant(CharField(), "compute", help_text="The kind of the entity. Always `compute`.")
    url = PathField(source="notice_url")


class MaintenanceResource(Resource):
    """Work on a host that concerns an instance."""

    type = ChoiceField(
        ["reboot", "cold_migration", "live_migration"],
        source="notice_type",
        help_text=Meanings(
            "The type of the maintenance.",
            {
                "reboot": "The host is under maintenance. The compute is off during this time.",
                "cold_migration": "The compute is shut down and moved to another host.",
                "live_migration": "Not shown by this platform.",
            },
        ),
    )
    status = ChoiceField(
        ["pending", "started"],
        source="notice_status",
        help_text=Meanings(
            "The status of the maintenance.",
            {
                "pending": "The maintenance begins at `when`.",
                "started": "The maintenance is in progress.",
            },
        ),
    )
    reason = CharField(source="notice_reason", help_text="The reason. It may be empty.")
    when = DateTimeField(
        source="notice_when", help_text="The time at which the maintenance begins or began, in UTC."
    )
    entity = NoticeEntity(source="*", help_text="The instance that the maintenance concerns.")

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

    id = IntegerField(required=False, help_text="The id of the instance. Null for a region.")
    label = CharField(help_text="The label of the instance, or the id of the region.")
    type = CharField(help_text="The kind of the entity: `compute` or `region`.")
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
        help_text="The entity that the notification is about.",
    )
    label = Annotated(CharField(), _of_topic("label"), help_text="A short title.")
    message = Computed(
        CharField(),
        lambda topic, label: TOPICS[topic].about(label),
        "notice_topic",
        "notice_label",
        help_text="The message, in one sentence.",
    )
    body = Computed(
        CharField(allow_null=True),
        lambda body: body or None,
        "notice_body",
        help_text="More information. Null if there is none.",
    )
    type = Annotated(
        ChoiceField(TYPES),
        _of_topic("type"),
        help_text=Meanings(
            "The type of the notification.",
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
                "maintenance": "The instance's host is under maintenance.",
                "promotion": "Not shown by this platform.",
            },
        ),
    )
    severity = Annotated(
        ChoiceField(["minor", "major", "critical"]),
        _of_topic("severity"),
        help_text=Meanings(
            "The severity.",
            {
                "minor": "Information.",
                "major": "A service is affected for some time.",
                "critical": "A service may not work.",
            },
        ),
    )
    when = DateTimeField(
        source="notice_when",
        allow_null=True,
        help_text="The time at which the event begins or began, in UTC. Null if unknown.",
    )
    until = Constant(DateTimeField(allow_null=True), None, help_text="Always null, because no end is known.")

    class Meta:
        read_only = True
