"""Services: their targets and their status."""

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from config.api.access import UNRESTRICTED
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet
from managed.api.base import MANAGED, READ, WRITE
from managed.filters import ServiceFilterSet
from managed.models import Service
from managed.serializers.services import ServiceResource, ServiceWish, spec_of
from managed.services import services


class ServiceViewSet(ReadOnlyModelViewSet[Actor, Service]):
    """Services that managed monitoring checks."""

    serializer_class = ServiceResource
    filterset_class = ServiceFilterSet
    permission_classes = MANAGED
    queryset = Service.objects.all()
    required_scopes = READ
    required_grant = UNRESTRICTED

    @operation(WRITE, UNRESTRICTED, request=ServiceWish)
    def create(self, request: Request) -> Response:
        """Add a service and start its checks.

        It is `pending` until the first check.
        """
        given = self.body()
        return self.retrieve(request, id=services.create(self.actor, spec_of(given), given.problems).pk)

    @operation(WRITE, UNRESTRICTED, request=ServiceWish)
    def update(self, request: Request, id: int) -> Response:
        """Change the given fields of a service. Fields that are omitted keep their values."""
        service, given = self.get_object(), self.body(partial=True)
        services.update(self.actor, service, spec_of(given), given.problems)
        return self.retrieve(request, id=id)

    @operation(WRITE, UNRESTRICTED)
    def destroy(self, request: Request, id: int) -> Response:
        """Delete a service. It is no longer checked.

        Its issues are kept. This cannot be undone.
        """
        services.delete(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, UNRESTRICTED, response=ServiceResource)
    def disable(self, request: Request, id: int) -> Response:
        """Stop checking a service.

        Its status becomes `disabled`. If it is disabled already, nothing happens.
        """
        services.disable(self.actor, self.get_object())
        return self.retrieve(request, id=id)

    @action(detail=True, methods=["post"])
    @operation(WRITE, UNRESTRICTED, response=ServiceResource)
    def enable(self, request: Request, id: int) -> Response:
        """Enable a disabled service, so that it is checked again. It is `pending` until the next check."""
        services.enable(self.actor, self.get_object())
        return self.retrieve(request, id=id)
