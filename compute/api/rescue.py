"""Rescue of an instance."""

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.instances import WRITE
from compute.models import Instance
from compute.serializers.instances import InstanceResource
from compute.serializers.rescue import RescueRequest
from compute.services.instances.rescue import rescue
from config.api.access import READ_WRITE
from config.api.operations import operation
from config.api.views import GenericViewSet


class RescueViewSet(GenericViewSet[Actor, Instance]):
    """Rescues of an instance."""

    serializer_class = InstanceResource
    queryset = Instance.objects.all()

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=RescueRequest)
    def rescue(self, request: Request, id: int) -> Response:
        """Boot an instance into the platform's rescue system, with `devices` attached.

        The instance is `rebooting` until it has booted. The rescue lasts until the next boot, which uses the
        profile that was booted before the rescue.
        """
        instance, given = self.get_object(), self.body()
        rescue(self.actor, instance, given.get("devices"), given.problems)
        return Response({})
