"""Rescue of an instance."""

from django.db.models import QuerySet
from rest_framework.request import Request

from accounts.actors import Actor
from compute.api.configs import Devices
from compute.api.instances import WRITE
from compute.api.resources import InstanceResource
from compute.models import Instance
from compute.services.instances.rescue import rescue
from config.api.access import READ_WRITE
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet


class RescueDevices(Devices):
    """What is in which slot of a rescue. The last one is its own system's."""

    sdh = None


class RescueRequest(Resource):
    """The body of a rescue. Without `devices` it has the disks of the instance, in their order."""

    devices = RescueDevices(
        required=False,
        help_text="The disks and volumes at hand; by default all disks of the instance, in their order.",
    )


class RescueViewSet(ResourceViewSet[Actor, Instance]):
    """Rescues of an instance."""

    resource = InstanceResource
    requests = {"rescue": RescueRequest}
    scopes = {"rescue": WRITE}
    grants = {"rescue": READ_WRITE}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Instance]:
        return Instance.objects.visible_to(actor)

    def rescue(self, request: Request, id: int) -> JSONResponse:
        """Boot an instance into rescue, from the platform's own system with `devices` at hand.

        It lasts until the next boot, which is from the profile booted before. The instance shows `rebooting`.
        """
        instance, given = self.get_entity(), self.body()
        rescue(self.actor, instance, given.get("devices"), given.problems)
        return JSONResponse()
