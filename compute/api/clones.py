"""Cloning an instance."""

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.instances import WRITE
from compute.models import Instance
from compute.serializers.clones import CloneRequest
from compute.serializers.instances import InstanceResource
from compute.services.instances.clones import CloneSpec, clone
from config.api.operations import operation
from config.api.views import GenericViewSet


class CloneViewSet(GenericViewSet[Actor, Instance]):
    """Clones of an instance."""

    serializer_class = InstanceResource
    queryset = Instance.objects.all()

    @action(detail=True, methods=["post"])
    @operation(WRITE, "add_computes", request=CloneRequest, response=InstanceResource)
    def clone(self, request: Request, id: int) -> Response:
        """Clone an instance into a new one, or with `compute_id` into an existing one.

        By default, all configuration profiles and the disks in their slots are copied. `configs` chooses some of
        the profiles, and `disks` adds further disks. The instance is `cloning` and its target `provisioning` until
        the copies are made. At most five clones of an instance run at once.
        """
        source, given = self.get_object(), self.body()
        return Response(self.get_serializer(clone(self.actor, source, CloneSpec(**given), given.problems)).data)
