"""The disks of an instance."""

from django.db.models import QuerySet
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.instances import READ, WRITE
from compute.api.nested import OfInstance
from compute.filters.disks import DiskFilterSet
from compute.models import Disk
from compute.serializers.disks import DiskCreate, DiskPassword, DiskResize, DiskResource, spec_fields
from compute.services.instances import disks, root_passwords
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet


class DiskViewSet(OfInstance, ReadOnlyModelViewSet[Actor, Disk]):
    """Disks of an instance."""

    serializer_class = DiskResource
    filterset_class = DiskFilterSet
    required_scopes = READ
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[Disk]:
        return Disk.objects.filter(instance__in=self.get_parent_queryset().values("pk")).select_related("instance")

    @operation(WRITE, READ_WRITE, request=DiskCreate)
    def create(self, request: Request, compute_id: int) -> Response:
        """Add a disk, empty or deployed from an image. It is `not ready` until the event `disk_create` finishes.

        All disks together must fit into the disk space of the type. A disk that is deployed from an image has ext4
        and needs a `root_pass`. No profile names the new disk yet.
        """
        instance, given = self.get_parent(), self.body()
        spec = disks.DiskSpec(**spec_fields(given))
        return Response(self.get_serializer(disks.create(self.actor, instance, spec, given.problems)).data)

    @operation(WRITE, READ_WRITE)
    def update(self, request: Request, compute_id: int, id: int) -> Response:
        """Change label and filesystem. `filesystem` only describes the content: nothing is formatted.

        A different `size` resizes the disk, as `resize` does.
        """
        disk, given = self.get_object(), self.body(partial=True)
        return Response(self.get_serializer(disks.update(self.actor, disk, given, given.problems)).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, compute_id: int, id: int) -> Response:
        """Delete a disk that the instance is not running with. It is removed from all profiles.

        Cannot be undone.
        """
        disks.delete(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, response=DiskResource)
    def clone(self, request: Request, compute_id: int, id: int) -> Response:
        """Copy a disk byte for byte into a new one of the same instance, which needs space for it.

        The new disk is `not ready` until the event `disk_duplicate` finishes.
        """
        return Response(self.get_serializer(disks.clone(self.actor, self.get_object())).data)

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=DiskPassword)
    def password(self, request: Request, compute_id: int, id: int) -> Response:
        """Set root's password in the system on the disk. The instance must be off."""
        disk, given = self.get_object(), self.body()
        root_passwords.reset_on(self.actor, disk, given.get("password"), given.problems)
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=DiskResize)
    def resize(self, request: Request, compute_id: int, id: int) -> Response:
        """Resize a disk. Follow the event `disk_resize`.

        The event fails if the instance is running with the disk, or if the files on the disk need more space.
        """
        disk, given = self.get_object(), self.body()
        disks.resize(self.actor, disk, given.get("size"), given.problems)
        return Response({})
