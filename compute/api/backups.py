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
        """Take a snapshot. When it is `successful`, it replaces the previous snapshot.

        Backups must be enabled. The instance keeps its status, and no other job can start on it until the event
        `compute_snapshot` finishes.
        """
        instance, given = self.get_parent(), self.body()
        return Response(shown(backups.snapshot(self.actor, instance, given.get("label"), given.problems)))

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE)
    def enable(self, request: Request, compute_id: int) -> Response:
        """Enable daily backups and snapshots of the instance.

        The platform soon chooses the day and the window if the schedule leaves them open.
        """
        backups.enable(self.actor, self.get_parent())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE)
    def cancel(self, request: Request, compute_id: int) -> Response:
        """Cancel the backups of the instance and delete all of them. Cannot be undone."""
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
        """A backup of the instance, even if it failed."""
        return Response(self.get_serializer(self.get_object()).data)

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=RestoreRequest)
    def restore(self, request: Request, compute_id: int, id: int) -> Response:
        """Add the backup's disks and profiles to an instance of its region, or replace the instance's own.

        The instance is `restoring` until its event `backups_restore` finishes.
        """
        backup, given = self.get_object(), self.body()
        overwrite = given.get("overwrite", False)
        restore(self.actor, backup, given.get("compute_id"), overwrite, given.problems)
        return Response({})
