"""Issues: what went wrong, and the ticket it is dealt with in."""

from django.db.models import QuerySet
from rest_framework.serializers import CharField, ChoiceField, DateTimeField, IntegerField, ListField

from accounts.actors import Actor
from config.api.access import UNRESTRICTED
from config.api.fields import Computed, Constant
from config.api.paths import PathParameters
from config.api.serializers import Resource
from managed.api.base import READ, ManagedViewSet
from managed.models import Issue


def ticket_url(ticket_id: int) -> str:
    return f"/v4/support/tickets/{ticket_id}"


class IssueEntity(Resource):
    """The ticket that the issue opened."""

    id = IntegerField(source="ticket_id")
    type = Constant(ChoiceField(["ticket"]), "ticket")
    label = CharField(source="ticket.summary")
    url = Computed(CharField(), ticket_url, "ticket_id")


class IssueResource(Resource):
    id = IntegerField()
    created = DateTimeField()
    services = ListField(child=IntegerField(), help_text="The services that failed.")
    entity = IssueEntity(source="*")

    class Meta:
        read_only = True


class IssueViewSet(ManagedViewSet[Issue]):
    """Issues that checks of services have raised."""

    resource = IssueResource
    scopes = {"list": READ, "retrieve": READ}
    grants = dict.fromkeys(scopes, UNRESTRICTED)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Issue]:
        return Issue.objects.visible_to(actor)
