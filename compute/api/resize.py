"""Changing the type of an instance."""

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.instances import WRITE
from compute.models import Instance
from compute.serializers.instances import InstanceResource
from compute.serializers.resize import MutateRequest, ResizeRequest
from compute.services.instances.resize import mutate, resize
from config.api.access import READ_WRITE
from config.api.operations import operation
from config.api.views import GenericViewSet

AUTO = "allow_auto_disk_resize"


class ResizeViewSet(GenericViewSet[Actor, Instance]):
    """Changes of an instance's type."""

    serializer_class = InstanceResource
    queryset = Instance.objects.all()

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=ResizeRequest)
    def resize(self, request: Request, id: int) -> Response:
        """Resize an instance to another type. It is `migrating`, and is booted again at the end if it ran.

        Its disks must fit the type. `allow_auto_disk_resize` has an effect if the instance has just one ext3 or
        ext4 disk and one swap disk: the former is resized so that both fill the type.
        """
        instance, given = self.get_object(), self.body()
        resize(self.actor, instance, given.get("type"), given.get(AUTO, True), given.problems)
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=MutateRequest)
    def mutate(self, request: Request, id: int) -> Response:
        """Upgrade an instance of a deprecated type to the type that replaces it, as a resize does.

        The instance is `migrating`, and is booted again at the end if it ran. Follow the event `compute_mutate`.
        """
        instance, given = self.get_object(), self.body()
        mutate(self.actor, instance, given.get(AUTO, True), given.problems)
        return Response({})
