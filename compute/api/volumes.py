"""The volumes of the account, and the volumes that are attached to an instance."""

from django.db.models import QuerySet
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.nested import OfInstance
from compute.filters.volumes import VolumeFilterSet
from compute.models import Volume
from compute.serializers.volumes import (
    VolumeAttach,
    VolumeClone,
    VolumeCreate,
    VolumeResize,
    VolumeResource,
    VolumeUpdate,
    changes_of,
    spec_of,
)
from compute.services.volumes import attaching, volumes
from compute.services.volumes.places import Place
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.views import ListViewSet, ReadOnlyModelViewSet

READ = "volumes:read_only"
WRITE = "volumes:read_write"
BOTH = (WRITE, "computes:read_write")


class VolumeViewSet(ReadOnlyModelViewSet[Actor, Volume]):
    """Volumes: block storage that instances attach and that outlives them."""

    serializer_class = VolumeResource
    filterset_class = VolumeFilterSet
    queryset = Volume.objects.all()
    required_scopes = READ
    required_grant = READ_ONLY

    @operation(WRITE, "add_volumes", request=VolumeCreate)
    def create(self, request: Request) -> Response:
        """Create a volume, in a region or attached to an instance of it. Follow the event `volume_create`.

        An attached volume is also in the profile `config_id`, by default the one that the instance boots next. If
        the instance is busy, the volume is attached as soon as the instance is idle.
        """
        given = self.body()
        return Response(self.get_serializer(volumes.create(self.actor, spec_of(given), given.problems)).data)

    @operation(WRITE, READ_WRITE, request=VolumeUpdate)
    def update(self, request: Request, id: int) -> Response:
        """Change label and tags. A running instance uses the new path from its next boot on."""
        volume, given = self.get_object(), self.body(partial=True)
        changes, tags = changes_of(given)
        return Response(self.get_serializer(volumes.update(self.actor, volume, changes, tags, given.problems)).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, id: int) -> Response:
        """Delete a volume. If its compute is off, the volume is detached first. Cannot be undone."""
        volumes.delete(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, "add_volumes", request=VolumeClone, response=VolumeResource)
    def clone(self, request: Request, id: int) -> Response:
        """Copy an active volume, byte for byte, into a new one of the same size and region.

        The copy is `creating` until the event `volume_clone` finishes.
        """
        volume, given = self.get_object(), self.body()
        made = volumes.clone(self.actor, volume, given.get("label"), given.problems)
        return Response(self.get_serializer(made).data)

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=VolumeResize, response=VolumeResource)
    def resize(self, request: Request, id: int) -> Response:
        """Enlarge an active volume, attached or not. It shows its new size at once, and is `resizing`."""
        volume, given = self.get_object(), self.body()
        changed = volumes.resize(self.actor, volume, given.get("size"), given.problems)
        return Response(self.get_serializer(changed).data)

    @action(detail=True, methods=["post"])
    @operation(BOTH, READ_WRITE, request=VolumeAttach, response=VolumeResource)
    def attach(self, request: Request, id: int) -> Response:
        """Attach a volume to an instance of its region, running or not.

        The volume gets a free slot of the profile `config_id`, by default the one that boots next. If the volume is
        being created, resized or detached from another instance, a running instance sees it when this has ended.
        With `persist_across_boots` false, the volume is in no profile, and the next boot is without it.
        """
        volume, given = self.get_object(), self.body()
        changed = attaching.attach(self.actor, volume, Place(**given), given.problems)
        return Response(self.get_serializer(changed).data)

    @action(detail=True, methods=["post"])
    @operation(BOTH, READ_WRITE)
    def detach(self, request: Request, id: int) -> Response:
        """Detach a volume from its instance, running or not, and remove it from its profiles. Unmount it first.

        If the event `volume_detach` fails, the volume is shown as attached again.
        """
        attaching.detach(self.actor, self.get_object())
        return Response({})


class InstanceVolumeViewSet(OfInstance, ListViewSet[Actor, Volume]):
    """The volumes attached to an instance. Volumes that the caller may not see are left out."""

    serializer_class = VolumeResource
    filterset_class = VolumeFilterSet
    required_scopes = "computes:read_only"
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[Volume]:
        return Volume.objects.visible_to(self.viewer).filter(instance__in=self.get_parent_queryset().values("pk"))
