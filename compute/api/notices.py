"""Notifications and maintenance: what the platform has to tell an account."""

from dataclasses import dataclass
from typing import Any

from rest_framework.serializers import CharField, ChoiceField, DateTimeField, IntegerField

from accounts.actors import Actor
from compute.services import notices
from config.api.access import READ_ONLY
from config.api.fields import Computed, Constant
from config.api.serializers import Resource
from config.api.views import UnionViewSet

READ = "account:read_only"


class NoticeViewSet(UnionViewSet[Actor]):
    """Notices, soonest first."""

    scopes = {"list": READ}
    grants = {"list": READ_ONLY}
    ordering = ("notice_when", "notice_id", "notice_label")


class NoticeEntity(Resource):
    """What a notice is about."""

    label = CharField(source="notice_label")
    id = IntegerField(source="notice_id")
    type = Constant(CharField(), "compute")
    url = CharField(source="notice_url")


class MaintenanceResource(Resource):
    type = ChoiceField(["reboot", "cold_migration", "live_migration"], source="notice_type")
    status = ChoiceField(["pending", "started"], source="notice_status")
    reason = CharField(source="notice_reason", help_text="Why; may be empty.")
    when = DateTimeField(source="notice_when", help_text="When it is due, or since when it goes on.")
    entity = NoticeEntity(source="*", help_text="The compute that it concerns.")

    class Meta:
        read_only = True
        filterable = ("type", "status", "when")


class MaintenanceViewSet(NoticeViewSet):
    """Maintenance of the account's computes that is due or goes on.

    `cold_migration` takes a compute to another host; with `reboot` it is off while its host is worked on.
    Restricted users see what concerns computes they may see.
    """

    resource = MaintenanceResource
    tables = notices.maintenance


@dataclass(frozen=True, slots=True)
class Topic:
    """What a kind of notification says. `{}` in the message is the label of what it is about."""

    type: str
    severity: str
    label: str
    message: str
    entity: str = "compute"


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
}
TYPES = (
    "migration_scheduled", "migration_imminent", "migration_pending", "reboot_scheduled", "outage", "payment_due",
    "ticket_important", "ticket_abuse", "notice", "maintenance", "promotion",
)  # fmt: skip


def entity_of(topic: str, key: int | None, label: str, url: str) -> dict[str, Any]:
    """What a notification is about. A region has no numeric id, and its label is its id."""
    about = {"label": label, "type": TOPICS[topic].entity, "url": url}
    return about if key is None else {"id": key, **about}


class NotificationEntity(Resource):
    id = IntegerField(required=False, help_text="Regions have none: their label is their id.")
    label = CharField()
    type = CharField()
    url = CharField()


class NotificationResource(Resource):
    entity = Computed(NotificationEntity(), entity_of, "notice_topic", "notice_id", "notice_label", "notice_url")
    label = Computed(CharField(), lambda topic: TOPICS[topic].label, "notice_topic")
    message = Computed(
        CharField(), lambda topic, label: TOPICS[topic].message.format(label), "notice_topic", "notice_label"
    )
    body = Computed(CharField(allow_null=True), lambda body: body or None, "notice_body")
    type = Computed(ChoiceField(TYPES), lambda topic: TOPICS[topic].type, "notice_topic")
    severity = Computed(
        ChoiceField(["minor", "major", "critical"]), lambda topic: TOPICS[topic].severity, "notice_topic"
    )
    when = DateTimeField(source="notice_when", allow_null=True, help_text="Null where no time is known.")
    until = Constant(DateTimeField(allow_null=True), None)

    class Meta:
        read_only = True


class NotificationViewSet(NoticeViewSet):
    """What the account should know now: migrations and maintenance of its computes, and outages of regions.

    Restricted users are told of computes they may see.
    """

    resource = NotificationResource
    tables = notices.notifications
