"""Notifications and maintenance: what the platform has to tell an account."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework.serializers import CharField, ChoiceField, DateTimeField, IntegerField

from compute.services import notices
from config.api import pagination
from config.api.access import READ_ONLY
from config.api.fields import Computed, Constant
from config.api.filters import Filter
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

READ = "account:read_only"


class UnionViewSet(ResourceViewSet):
    """A list whose objects come from several tables. One query for the page and one for the total."""

    scopes = {"list": READ}
    grants = {"list": READ_ONLY}
    tables: ClassVar[Callable[[Any], list[QuerySet[Any]]]]
    """The querysets of what an actor may see. Their columns are those of the resource, by the same names."""

    def list(self, request, **path: Mapping[str, Any]) -> JSONResponse:
        """One page, soonest first."""
        page = pagination.read_page(request.query_params)
        wanted = self.read_filter(request.query_params) or Filter()
        shape = self.resource.shape()
        first, *others = [
            shape.select(rows).filter(wanted.condition).order_by().values_list(*shape.columns)
            for rows in type(self).tables(self.actor)
        ]
        found = first.union(*others, all=True)
        rows: Iterable[Any] = found.order_by(*self.order(wanted))[page.offset : page.offset + page.size]
        data = [shape.one(row) for row in rows]
        return JSONResponse(page.envelope(data, found.count()))

    def order(self, wanted: Filter) -> tuple[str, ...]:
        """By what the filter asks, then by time and object. A union is ordered by its own columns only."""
        columns = self.resource.shape().columns
        asked = wanted.ordering or ""
        sign, name = asked[: asked.startswith("-")], asked.removeprefix("-")
        own = name if name in columns else f"utc_{name}"
        return (*([f"{sign}{own}"] if asked else []), "utc_notice_when", "notice_id", "notice_label")


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


class MaintenanceViewSet(UnionViewSet):
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


class NotificationViewSet(UnionViewSet):
    """What the account should know now: migrations and maintenance of its computes, and outages of regions.

    Restricted users are told of computes they may see.
    """

    resource = NotificationResource
    tables = notices.notifications
