"""The parts that all changes of volumes share: the lock, the checks, and a job of the volume alone."""

from accounts.actors import Actor
from accounts.services.events import EntityRef, open_event
from compute.jobs.data import VolumeData
from compute.jobs.queue import enqueue_alone
from compute.models import Job, Volume
from compute.refs import volume_ref
from config.db.rows import lock
from config.errors import Busy, Problems


def lock_row(volume: Volume) -> Volume:
    """Lock the volume's row and read it anew. If the instance's row is locked too, it must be locked before."""
    return lock(Volume.objects.filter(pk=volume.pk))


def refusal_of_status(volume: Volume, verb: str) -> str:
    """Return the reason if the volume's status does not allow the `verb`; empty if it does."""
    return "" if volume.status == Volume.Status.ACTIVE else f"Cannot {verb} a volume that is {volume.status}."


def note_unless_active(locked: Volume, verb: str, problems: Problems) -> None:
    """Note a problem if the volume's status does not allow the `verb`."""
    if refusal := refusal_of_status(locked, verb):
        problems.add(None, refusal)


def check_free(locked: Volume) -> None:
    """Raise `Busy` while a job of the locked volume lives."""
    if Job.objects.filter(volume=locked, finished_at=None).exists():
        raise Busy


def begin_alone(
    kind: str, actor: Actor, volume: Volume, data: VolumeData, secondary: EntityRef | None = None
) -> Job:
    """Enqueue a job of the volume, without an instance."""
    event = open_event(
        username=actor.username,
        account_id=volume.account_id,
        action=kind,
        entity=volume_ref(volume),
        secondary=secondary,
    )
    return enqueue_alone(kind, actor, event, data, volume=volume)
