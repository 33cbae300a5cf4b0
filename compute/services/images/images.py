"""An account's own images: creating them from a disk or an upload, changing and deleting them."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Event
from accounts.quotas import QUOTAS
from accounts.services import quotas
from accounts.services.events import open_event, record_event
from accounts.services.grants import grant_creator
from compute.jobs.data import SIMULATED, ImageData, ImagizeData
from compute.jobs.queue import enqueue, enqueue_alone, run_now
from compute.models import Disk, Host, Image, Instance, Job
from compute.refs import image_ref, instance_ref, own_image_ref
from compute.services.common.locks import is_busy, lock_present
from compute.services.common.regions import check_region
from compute.services.images import files
from compute.services.removal import remove_image
from compute.services.usage.recording import record, require_left
from config.db.inserts import draw_keys
from config.db.rows import differing, lock, write
from config.errors import Invalid, Missing, Problems
from regions.models import Region

UPLOADED_WITHIN = timedelta(hours=24)
"""The time after the creation of an image in which its upload must start and end. Afterwards, `uploads.begin`
refuses all addresses of the image, and `expire_uploads` deletes it."""
UNFINISHED = "The image is still being made."
MAKERS = ("imagize", "import_image")
"""The kinds of job that make an image."""


@transaction.atomic
def create_from_disk(
    actor: Actor,
    disk_id: int | None,
    *,
    label: str | None,
    description: str | None,
    problems: Problems | None = None,
) -> Image:
    """Create an image of a disk that the actor may see; the image is `creating` until its job is done.

    Until then the disk is `not ready`. If the instance is busy or the disk is not ready, the image waits until the
    instance is idle and the disk is ready. The disk changes its status after this wait. Raises `Missing` on
    ``disk_id`` if there is no such disk, and `Invalid` if the disk or its instance is being deleted. If there is no
    `disk_id`, there are `problems`.
    """
    problems = problems or Problems()
    _check_quota(actor, problems)
    disk = None if disk_id is None else _disk(actor, disk_id, problems)
    disk = problems.checked(disk)
    driver = disk.instance.host.driver
    image = _insert(actor, Image.Status.CREATING, label or disk.label, description, driver)
    if disk.status == Disk.Status.READY and not is_busy(disk.instance):
        data = ImagizeData(image_number=image.own_number, disk_id=disk.pk, driver=driver)
        enqueue("imagize", disk.instance, actor, data=data, secondary=image_ref(image))
        Disk.objects.filter(pk=disk.pk).update(status=Disk.Status.NOT_READY, updated=Now())
        record(actor.account_id, images=[image.own_number])
        return image
    data = ImagizeData(image_number=image.own_number, disk_id=disk.pk, instance_id=disk.instance_id, driver=driver)
    event = open_event(
        username=actor.username,
        account_id=actor.account_id,
        action="disk_imagize",
        entity=instance_ref(disk.instance),
        secondary=image_ref(image),
    )
    enqueue_alone("imagize", actor, event, data)
    record(actor.account_id, images=[image.own_number])
    return image


def _disk(actor: Actor, disk_id: int, problems: Problems) -> Disk | None:
    """Lock the instance of the disk and return the disk. Return None and add a problem if it is being deleted.

    Raises `Missing` if the actor cannot see such a disk.
    """
    seen = Disk.objects.filter(pk=disk_id, instance__in=Instance.objects.visible_to(actor))
    locked = lock_present(list(seen.values_list("instance_id", flat=True)))
    disk = Disk.objects.select_related("instance__host").filter(pk=disk_id, instance__in=locked).first()
    if disk is None:
        raise Missing(field="disk_id")
    if disk.instance.status == Instance.Status.DELETING:
        problems.add("disk_id", "The status of the compute of the disk is deleting.")
        return None
    if disk.status == Disk.Status.DELETING:
        problems.add("disk_id", "The disk is being deleted.")
    return disk


@transaction.atomic
def begin_upload(
    actor: Actor,
    *,
    label: str | None,
    description: str | None,
    region: str | None,
    problems: Problems | None = None,
) -> Image:
    """Create an image that waits for its upload (`compute.services.images.uploads`). Its event lasts until the
    upload is imported.

    If there is no label or region, there are `problems`. Raises `Invalid` with every failing field.
    """
    problems = problems or Problems()
    _check_quota(actor, problems)
    if region is not None:
        check_region(Region.objects.filter(pk=region).first(), None, problems)
    label = problems.checked(label)
    driver = Host.objects.filter(region=region).order_by("pk").values_list("driver", flat=True).first()
    image = _insert(actor, Image.Status.PENDING_UPLOAD, label, description, driver or SIMULATED)
    open_event(
        username=actor.username, account_id=actor.account_id, action="image_upload", entity=own_image_ref(image)
    )
    record(actor.account_id, images=[image.own_number])
    require_left(actor.account_id, "image_storage", 1)
    return image


@transaction.atomic
def update(actor: Actor, image: Image, given: Mapping[str, Any]) -> Image:
    """Write the values that differ, with one ``image_update`` event if any do. Returns the image as it is then.

    Raises `Missing` if the image is gone or is being deleted.
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

    An image that waits for its upload is deleted at once. For any other image, a job deletes the archive and then
    the row; meanwhile, nobody sees the image. The job that is making the image is stopped. Raises `Invalid` while a
    disk is being made from it.
    """
    if Image.objects.select_for_update().filter(pk=image.pk, status=Image.Status.PENDING_UPLOAD).exists():
        give_up_upload(image, "The image was deleted.")
        record_event(actor, "image_delete", own_image_ref(image))
        return
    # of two deletions the second finds the image `deleting` already
    kept = Image.objects.filter(pk=image.pk, status__in=(Image.Status.AVAILABLE, Image.Status.CREATING))
    if not kept.update(status=Image.Status.DELETING):
        raise Missing
    # checked only now: a deploy of the image locks its row, and the UPDATE above waits for that
    imaged = Job.objects.filter(kind="imagize", account_id=image.account_id or 0, finished_at=None)
    making = Disk.objects.filter(image=image, status=Disk.Status.NOT_READY)
    making = making.exclude(pk__in=list(imaged.exclude(instance=None).values_list("data__disk", flat=True)))
    if making.exists() or Instance.objects.filter(image=image, status=Instance.Status.REBUILDING).exists():
        raise Invalid("A disk is being deployed from this image.")
    event = open_event(
        username=actor.username, account_id=actor.account_id, action="image_delete", entity=own_image_ref(image)
    )
    for maker in being_made(image.own_number):
        run_now(maker)  # it finds that the image is not wanted any more, and undoes what it did
    enqueue_alone("delete_image", actor, event, ImageData(image_number=image.own_number, driver=image.driver))
    record(actor.account_id, check=False, images=[image.own_number])


def being_made(number: int) -> QuerySet[Job]:
    """The job that is making this image, if any."""
    return Job.objects.filter(kind__in=MAKERS, finished_at=None, data__image_number=number)


def give_up_upload(image: Image, reason: str) -> None:
    """Delete the row and files of an image that waits for its upload, and fail its event. Runs in a transaction.

    Raises `Invalid` while the upload is being received.
    """
    waiting = Image.objects.select_for_update().filter(pk=image.pk, status=Image.Status.PENDING_UPLOAD)
    if waiting.first() is None or image.number is None:
        raise Invalid(UNFINISHED)
    opened = upload_events(image).first()
    if opened is not None:
        opened.status, opened.message = Event.Status.FAILED, reason
        opened.save(update_fields=["status", "message"])
    remove_image(image.number)
    # the files last: they are still needed if the transaction fails, and the clock deletes leftover files
    transaction.on_commit(partial(files.drop, image.number), robust=True)


def upload_events(image: Image) -> QuerySet[Event]:
    """The event that waits for the upload of this image; none after the upload."""
    events = Event.objects.filter(action="image_upload", entity_type="image", entity_id=image.number)
    return events.filter(status=Event.Status.SCHEDULED)


def expire_uploads() -> int:
    """Give up the uploads that were not received in time, and delete stray files; returns the number of uploads."""
    late = Image.objects.filter(status=Image.Status.PENDING_UPLOAD, created__lt=now() - UPLOADED_WITHIN)
    given_up = 0
    for image in late:
        with transaction.atomic():
            # skips a row that another clock, or an upload that just ended, has locked or changed
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


def refusals_of_new(account_id: int, sizes: Iterable[int]) -> list[str]:
    """Return why the account can have no further image of each of these sizes in MB; empty if it can.

    Three queries. Pages show the reasons before a request. They are those of the refused request.
    """
    most = quotas.most_for(account_id, "images")
    resources = quotas.resources_of(account_id)
    if Image.objects.filter(account_id=account_id).count() >= most:
        return [QUOTAS["images"].reason(most) for _ in sizes]
    return [next(resources.refusals({"image_storage": size}), "") for size in sizes]


def _check_quota(actor: Actor, problems: Problems) -> None:
    quotas.check_quota(actor, "images", Image.objects.filter(account_id=actor.account_id), problems)


def _insert(actor: Actor, status: Image.Status, label: str, description: str | None, driver: str) -> Image:
    # a number of the events' sequence is never used twice, unlike the highest number plus one: no grant, event or
    # archive of a deleted image can be mistaken for this one's
    (number,) = draw_keys(Event)
    image = Image(
        id=f"private/{number}",
        number=number,
        account_id=actor.account_id,
        label=label,
        description=description or None,
        status=status,
        driver=driver,
        created=now(),
        updated=now(),
        created_by=actor.username,
    )
    image.save(force_insert=True)
    grant_creator(actor, "image", number)
    return image
