"""Rebuilding an instance from an image, and resetting root's password."""

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.instances import WRITE
from compute.models import Instance
from compute.serializers.disks import spec_fields
from compute.serializers.instances import InstanceResource
from compute.serializers.rebuild import PasswordRequest, RebuildRequest
from compute.services.instances import root_passwords
from compute.services.instances.rebuild import RebuildSpec, rebuild
from config.api.access import READ_WRITE
from config.api.operations import operation
from config.api.views import GenericViewSet


class RebuildViewSet(GenericViewSet[Actor, Instance]):
    """Rebuilds and root passwords of instances."""

    serializer_class = InstanceResource
    queryset = Instance.objects.all()

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=RebuildRequest, response=InstanceResource)
    def rebuild(self, request: Request, id: int) -> Response:
        """Delete all disks and profiles of an instance and deploy an image, as on a new one. Cannot be undone.

        The instance is `rebuilding`, then `running`, or `offline` with `booted` false. It keeps its addresses,
        label, type and backups.
        """
        instance, given = self.get_object(), self.body()
        changed = rebuild(self.actor, instance, RebuildSpec(**spec_fields(given)), given.problems)
        return Response(self.get_serializer(changed).data)

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=PasswordRequest)
    def password(self, request: Request, id: int) -> Response:
        """Set root's password on an instance that is off and has only one disk that is not swap.

        If there are several such disks, use the `password` operation of the disk. The password is set when the
        event `password_reset` finishes.
        """
        instance, given = self.get_object(), self.body()
        root_passwords.reset(self.actor, instance, given.get("root_pass"), given.problems)
        return Response({})
