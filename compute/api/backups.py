"""The backups of an instance."""

from typing import Any

from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, IntegerField, ListField

from accounts.actors import Actor
from compute.api.instances import READ
from compute.api.nested import its_instance
from compute.models import Backup, Disk, Instance
from compute.services.backups import listing
from config.api.access import READ_ONLY
from config.api.fields import Computed
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet


def is_available(status: str) -> bool:
    """Whether it is complete, so that it can be restored from."""
    return bool(status == Backup.Status.SUCCESSFUL)


def disks_shown(disks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What clients see of a backup's disks: not where their content is kept."""
    return [{name: disk[name] for name in ("label", "size", "filesystem")} for disk in disks]


class BackupDisk(Resource):
    """A disk as it was when the backup was taken; `size` in MB."""

    label = CharField()
    size = IntegerField()
    filesystem = ChoiceField(Disk.Filesystem.choices)


class BackupResource(Resource):
    """What the disks and profiles of an instance were at one time."""

    id = IntegerField(read_only=True)
    type = ChoiceField(Backup.Type.choices, read_only=True)
    status = ChoiceField(Backup.Status.choices, read_only=True)
    available = Computed(BooleanField(), is_available, "status")
    label = CharField(read_only=True, allow_null=True)
    region = CharField(source="region_id", read_only=True)
    configs = ListField(child=CharField(), read_only=True)
    disks = Computed(BackupDisk(many=True), disks_shown, "disks")
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    finished = DateTimeField(read_only=True, allow_null=True)


class Snapshots(Resource):
    current = BackupResource(read_only=True, allow_null=True)
    in_progress = BackupResource(read_only=True, allow_null=True)


class BackupListing(Resource):
    """The automatic backups, and the snapshot that is there and that is being made."""

    automatic = BackupResource(many=True, read_only=True)
    snapshot = Snapshots(read_only=True)


def shown(backup: Backup | None) -> dict[str, Any] | None:
    return None if backup is None else BackupResource.shape().of_instance(backup)


class BackupListViewSet(ResourceViewSet[Actor, Instance]):
    """All backups of an instance."""

    resource = BackupListing
    responses = {"show": BackupListing}
    scopes = {"show": READ}
    grants = {"show": READ_ONLY}
    parent = staticmethod(its_instance)

    @staticmethod
    def objects(actor, path):
        return its_instance(actor, path)

    def show(self, request, compute_id) -> JSONResponse:
        """The automatic backups of the instance, its snapshot, and the snapshot that is being made."""
        found = listing(self.get_parent())
        return JSONResponse(
            {
                "automatic": [shown(backup) for backup in found.automatic],
                "snapshot": {"current": shown(found.current), "in_progress": shown(found.in_progress)},
            }
        )


class BackupViewSet(ResourceViewSet[Actor, Backup]):
    """One backup of an instance."""

    resource = BackupResource
    scopes = {"retrieve": READ}
    grants = {"retrieve": READ_ONLY}
    parent = staticmethod(its_instance)

    @staticmethod
    def objects(actor, path):
        return Backup.objects.filter(instance__in=its_instance(actor, path).values("pk"))

    def retrieve(self, request, compute_id, id) -> JSONResponse:
        """A backup of the instance, one that failed included."""
        return self.answer(self.get_entity())
