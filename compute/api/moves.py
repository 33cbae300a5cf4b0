"""Moving an instance to another host or region."""

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.instances import WRITE
from compute.models import Instance
from compute.serializers.instances import InstanceResource
from compute.serializers.moves import MigrateRequest
from compute.services.hosts.moves import migrate
from config.api.access import READ_WRITE
from config.api.operations import operation
from config.api.views import GenericViewSet


class MigrateViewSet(GenericViewSet[Actor, Instance]):
    """Migrations of an instance."""

    serializer_class = InstanceResource
    queryset = Instance.objects.all()

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=MigrateRequest)
    def migrate(self, request: Request, id: int) -> Response:
        """Start the host migration that is scheduled for an instance, or move it to another region.

        With `region`, the instance moves there with its disks and profiles, and gets new addresses. Its old
        addresses, their reverse names and its IPv6 ranges stay behind, and a scheduled host migration is cancelled.
        A running instance is shut down and booted again at the end. With `upgrade`, a deprecated type is replaced
        by its successor.
        """
        instance, given = self.get_object(), self.body()
        migrate(self.actor, instance, given.get("region"), given.get("upgrade", False), given.problems)
        return Response({})
