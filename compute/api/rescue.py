"""Rescue of an instance."""

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.configs import Devices
from compute.api.instances import WRITE
from compute.api.resources import InstanceResource
from compute.models import Instance
from compute.services.instances.rescue import rescue
from config.api.access import READ_WRITE
from config.api.operations import operation
from config.api.serializers import Resource
from config.api.views import GenericViewSet


class RescueDevices(Devices):
    """What is in which slot of a rescue. The last one is its own system's."""

    sdh = None


class RescueRequest(Resource):
    """The body of a rescue. Without `devices` it has the disks of the instance, in their order."""

    devices = RescueDevices(
        required=False,
        help_text="The disks and volumes at hand; by default all disks of the instance, in their order.",
    )


class RescueViewSet(GenericViewSet[Actor, Instance]):
    """Rescues of an instance."""

    serializer_class = InstanceResource
    queryset = Instance.objects.all()

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=RescueRequest)
    def rescue(self, request: Request, id: int) -> Response:
        """Boot an instance into rescue, from the platform's own system with `devices` at hand.

        It lasts until the next boot, which is from the profile booted before. The instance shows `rebooting`.
        """
        instance, given = self.get_object(), self.body()
        rescue(self.actor, instance, given.get("devices"), given.problems)
        return Response({})
