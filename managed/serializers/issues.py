"""Serializers of issues of managed monitoring."""

from rest_framework.serializers import CharField, ChoiceField, DateTimeField, IntegerField, ListField

from config.api.fields import Computed, Constant
from config.api.meanings import Meanings
from config.api.serializers import Resource


def ticket_url(ticket_id: int) -> str:
    return f"/v4/support/tickets/{ticket_id}"


class IssueEntity(Resource):
    """The ticket that the issue opened."""

    id = IntegerField(source="ticket_id", help_text="The ticket's number.")
    type = Constant(
        ChoiceField(["ticket"]),
        "ticket",
        help_text=Meanings(
            "The kind of the entity.",
            {
                "ticket": "A ticket.",
            },
        ),
    )
    label = CharField(source="ticket.summary", help_text="The ticket's summary.")
    url = Computed(CharField(), ticket_url, "ticket_id")


class IssueResource(Resource):
    """A problem that checks of services have found."""

    id = IntegerField()
    created = DateTimeField(help_text="The time at which the problem was detected, in UTC.")
    services = ListField(child=IntegerField(), help_text="The ids of the services that failed.")
    entity = IssueEntity(source="*", help_text="The ticket of the issue.")

    class Meta:
        read_only = True
