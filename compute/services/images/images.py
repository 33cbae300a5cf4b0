"""An account's own images: made from a disk or uploaded, changed, deleted."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Event
from accounts.services.events import open_event, record_event
from accounts.services.grants import grant_creator
from compute.jobs.data import ImageData, ImagizeData
from compute.jobs.queue import enqueue, enqueue_alone
from compute.models import Disk, Image, Instance
from compute.refs import image_ref, own_image_ref
from compute.services.common.regions import check_region
from compute.services.images import files
from compute.services.removal import remove_image
from config.db.inserts import draw_keys
from config.db.rows import differing, lock, write
from config.errors import Invalid, Missing, Problems
from regions.models import Region

UPLOADED_WITHIN = timedelta(hours=24)
UNFINISHED = "The image is still being made."


@transaction.atomic
def create_from_disk(actor: Actor, disk_id: int, *, label: str | None, description: str | None) -> Image:
    """Make an image of a disk that the actor may see; the image is `creating` until its job is done.

    Raises `Missing` where there is no such disk or its instance is being deleted, `Invalid` while the disk is not
    ready, `Busy` while another job of the instance lives.
    """
    seen = Instance.objects.visible_to(actor)
    disk = Disk.objects.select_related("instance").filter(pk=disk_id, instance__in=seen).first()
    if disk is None or disk.instance.status == Instance.Status.DELETING:
        raise Missing
    if disk.status != Disk.Status.READY:
        raise Invalid("The disk is not ready.", "disk_id")
    image = _insert(actor, Image.Status.CREATING, label or disk.label, description)
    assert image.number is not None  # noqa: S101 - an account's own has one
    data = ImagizeData(image_number=image.number, disk_id=disk.pk)
    enqueue("imagize", disk.instance, actor, data=data, secondary=image_ref(image))
    return image


@transaction.atomic
def begin_upload(actor: Actor, *, label: str, description: str | None, region: str) -> Image:
    """Create an image that waits for its upload (`compute.services.images.uploads`), with which its event ends."""
    problems = Problems()
    check_region(Region.objects.filter(pk=region).first(), None, problems)
    problems.raise_any()
    image = _insert(actor, Image.Status.PENDING_UPLOAD, label, description)
    open_event(
        username=actor.username, account_id=actor.account_id, action="image_upload", entity=own_image_ref(image)
    )
    return image


@transaction.atomic
def update(actor: Actor, image: Image, given: Mapping[str, Any]) -> Image:
    """Write the values that differ, with one ``image_update`` event if any do. Returns the image as it is then.

    Raises `Missing` when the image is gone or is being deleted.
    """
    locked = lock(Image.objects.filter(pk=image.pk).exclude(status=Image.Status.DELETING))
    wanted = differing(locked, given)
    if wanted:
        write(locked, {**wanted, "updated": now()})
        record_event(actor, "image_update", own_image_ref(locked))
    return locked


@transaction.atomic
def delete(actor: Actor, image: Image) -> None:
    """Delete an image. Instances and disks deployed from it stay.

    An image that waits for its upload is gone at once, any other when the job has deleted its archive; nobody sees
    it meanwhile. Raises `Invalid` while the image is being made, and while a disk is being made from it.
    """
    if image.status == Image.Status.PENDING_UPLOAD:
        give_up_upload(image, "The image was deleted.")
        record_event(actor, "image_delete", own_image_ref(image))
        return
    # of two deletions the second finds the image `deleting` already
    kept = Image.objects.filter(pk=image.pk, status=Image.Status.AVAILABLE)
    if not kept.update(status=Image.Status.DELETING):
        raise Invalid(UNFINISHED)
    # checked only now: a deploy of the image held its row, and the UPDATE above waited for that
    making = Disk.objects.filter(image=image, status=Disk.Status.NOT_READY).exists()
    if making or Instance.objects.filter(image=image, status=Instance.Status.REBUILDING).exists():
        raise Invalid("A disk is being deployed from this image.")
    event = open_event(
        username=actor.username, account_id=actor.account_id, action="image_delete", entity=own_image_ref(image)
    )
    assert image.number is not None  # noqa: S101 - an account's own has one
    enqueue_alone("delete_image", actor, event, ImageData(image_number=image.number))


def give_up_upload(image: Image, reason: str) -> None:
    """Delete the row and files of an image that waits for its upload, and fail its event. In a transaction.

    Raises `Invalid` where the upload came in meanwhile.
    """
    waiting = Image.objects.select_for_update().filter(pk=image.pk, status=Image.Status.PENDING_UPLOAD)
    if waiting.first() is None or image.number is None:
        raise Invalid(UNFINISHED)
    opened = upload_event(image)
    if opened is not None:
        opened.status, opened.message = Event.Status.FAILED, reason
        opened.save(update_fields=["status", "message"])
    remove_image(image.number)
    # the files last: they are still needed if the transaction fails, and the clock finds those that outlive it
    transaction.on_commit(partial(files.drop, image.number), robust=True)


def upload_event(image: Image) -> Event | None:
    """The event that waits for the upload of this image."""
    events = Event.objects.filter(action="image_upload", entity_type="image", entity_id=image.number)
    return events.filter(status=Event.Status.SCHEDULED).first()


def expire_uploads() -> int:
    """Give up the uploads that did not come in time, and delete stray files; returns how many uploads."""
    late = Image.objects.filter(status=Image.Status.PENDING_UPLOAD, created__lt=now() - UPLOADED_WITHIN)
    given_up = 0
    for image in late:
        with transaction.atomic():
            # a row that an upload which just came in, or another clock, has locked or changed is skipped
            mine = late.filter(pk=image.pk).select_for_update(skip_locked=True)
            if mine.first() is not None:
                give_up_upload(image, "The upload did not come in time.")
                given_up += 1
    unfinished = (Image.Status.PENDING_UPLOAD, Image.Status.CREATING)
    # the folder is read before the rows: a file that has no row then belongs to no image
    found = files.numbers()
    needed = Image.objects.filter(number__in=found, status__in=unfinished).values_list("number", flat=True)
    for number in found - set(needed):
        files.drop(number)
    return given_up


def _insert(actor: Actor, status: Image.Status, label: str, description: str | None) -> Image:
    # a number of the events' sequence: unlike the highest one so far plus one, it is never given twice, so that no
    # grant, event or archive of an image that is gone is taken for this one's
    (number,) = draw_keys(Event)
    image = Image(
        id=f"private/{number}",
        number=number,
        account_id=actor.account_id,
        label=label,
        description=description or None,
        status=status,
        created=now(),
        updated=now(),
        created_by=actor.username,
    )
    image.save(force_insert=True)
    grant_creator(actor, "image", number)
    return image
