"""The backups of an instance: what there is to restore from, and what is being made."""

from dataclasses import dataclass

from compute.models import Backup, Instance

S = Backup.Status
IN_PROGRESS = (S.PENDING, S.RUNNING, S.NEEDS_POST_PROCESSING)
GIVEN_UP = (S.FAILED, S.USER_ABORTED)


@dataclass(frozen=True, slots=True)
class Listing:
    """What an instance has of backups. Those that failed are in none of these, and are found by their id."""

    automatic: list[Backup]
    current: Backup | None
    in_progress: Backup | None


def listing(instance: Instance) -> Listing:
    """The backups of an instance, the oldest first. One query.

    The snapshot in progress does not take the place of the current one before it is complete.
    """
    there = list(Backup.objects.filter(instance=instance).exclude(status__in=GIVEN_UP).order_by("pk"))
    snapshots = [backup for backup in there if backup.type == Backup.Type.SNAPSHOT]
    complete = [backup for backup in snapshots if backup.status == S.SUCCESSFUL]
    under_way = [backup for backup in snapshots if backup.status in IN_PROGRESS]
    return Listing(
        automatic=[backup for backup in there if backup.type == Backup.Type.AUTOMATIC],
        current=complete[-1] if complete else None,
        in_progress=under_way[-1] if under_way else None,
    )
