"""The backups of an instance."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.instances import READ, WRITE
from compute.api.nested import OfInstance
from compute.models import Backup, Instance
from compute.serializers.backups import BackupListing, BackupResource, RestoreRequest, SnapshotRequest, shown
from compute.services.backups import backups
from compute.services.backups.restores import restore
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.views import GenericViewSet


class BackupListViewSet(OfInstance, GenericViewSet[Actor, Instance]):
    """All backups of an instance."""

    serializer_class = BackupListing

    def get_queryset(self) -> QuerySet[Instance]:
        return self.get_parent_queryset()

    @operation(READ, READ_ONLY, noun="list")
    def retrieve(self, request: Request, compute_id: int) -> Response:
        """The automatic backups of the instance, its snapshot, and the snapshot that is being made.

        All are in one answer, without pages.
        """
        found = backups.listing(self.get_parent())
        return Response(
            {
                "automatic": [shown(backup) for backup in found.automatic],
                "snapshot": {"current": shown(found.current), "in_progress": shown(found.in_progress)},
            }
        )

    @operation(WRITE, READ_WRITE, request=SnapshotRequest, response=BackupResource)
    def create(self, request: Request, compute_id: int) -> Response:
        """Take a snapshot now. It replaces the one before when it is `successful`; follow `compute_snapshot`.

        Backups have to be enabled, and the instance keeps its status. Nothing else can be done with it meanwhile.
        """
        instance, given = self.get_parent(), self.body()
        return Response(shown(backups.snapshot(self.actor, instance, given.get("label"), given.problems)))

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE)
    def enable(self, request: Request, compute_id: int) -> Response:
        """Let the instance be backed up each day, and have snapshots. The platform completes its schedule soon."""
        backups.enable(self.actor, self.get_parent())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE)
    def cancel(self, request: Request, compute_id: int) -> Response:
        """End the backups of the instance and delete all there are. Cannot be undone."""
        backups.cancel(self.actor, self.get_parent())
        return Response({})


class BackupViewSet(OfInstance, GenericViewSet[Actor, Backup]):
    """One backup of an instance."""

    serializer_class = BackupResource

    def get_queryset(self) -> QuerySet[Backup]:
        return Backup.objects.filter(instance__in=self.get_parent_queryset().values("pk")).select_related(
            "instance__host"
        )

    @operation(READ, READ_ONLY)
    def retrieve(self, request: Request, **path: Any) -> Response:
        """A backup of the instance, one that failed included."""
        return Response(self.get_serializer(self.get_object()).data)

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=RestoreRequest)
    def restore(self, request: Request, compute_id: int, id: int) -> Response:
        """Add the backup's disks and profiles to an instance of its region, or put them in place of all it has.

        The instance shows `restoring`; follow its event `backups_restore`.
        """
        backup, given = self.get_object(), self.body()
        overwrite = given.get("overwrite", False)
        restore(self.actor, backup, given.get("compute_id"), overwrite, given.problems)
        return Response({})
