"""Events: what happened on the account."""

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.filters.events import EventFilterSet
from accounts.models import Event
from accounts.serializers.events import EventResource
from accounts.services.events import mark_read, mark_seen
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet, expensive

READ = "events:read_only"


class EventViewSet(ReadOnlyModelViewSet[Actor, Event]):
    """Events of the last 90 days, newest first. Restricted users see the events that their grants allow."""

    serializer_class = EventResource
    filterset_class = EventFilterSet
    queryset = Event.objects.all()
    required_scopes = READ
    required_grant = READ_ONLY
    ordering = ("-id",)
    lane_of_list = "lists"  # counting hundreds of thousands of events takes long

    @action(detail=True, methods=["post"])
    @operation(READ, READ_WRITE)
    @expensive
    def seen(self, request: Request, id: int) -> Response:
        """Mark an event and all before it as seen.

        This applies to the events that the acting user may change. All users of the account see the mark.
        """
        mark_seen(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(READ, READ_ONLY)
    def read(self, request: Request, id: int) -> Response:
        """Mark one event as read.

        All users of the account see that it is read. Other events are not marked.
        """
        mark_read(self.get_object())
        return Response({})
