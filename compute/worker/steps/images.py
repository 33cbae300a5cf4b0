"""The steps of images: archiving a disk, importing an upload, and deleting archives."""

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from compute.drivers.base import DriverError
from compute.jobs import store
from compute.jobs.data import ImageData, ImagizeData, ImportData
from compute.jobs.definition import Fail, Outcome, Wait
from compute.machine_names import disk_name
from compute.models import Disk, Image
from compute.models.catalogue import image_archive
from compute.services.images import files, unpacking
from compute.services.images.images import being_made
from compute.services.removal import remove_image
from compute.services.usage.recording import record
from compute.worker.run import Run, until
from config.errors import Invalid
from config.word import unquoted

PART_OF_LIMIT = 0.8
"""The share of a step's time limit that unpacking an upload may take."""
POLL_SECONDS = 2.0
"""Seconds until a job that waits for another one checks again."""


def await_instance(run: Run[ImagizeData]) -> Outcome:
    """Wait until no job works on the disk and its instance. Then make this job the job of the instance.

    From then on, the disk is ``not ready``. The disk may have been resized since the request, so its size is
    counted again. Raises `Fail` if the account's quotas do not allow the new size.
    """
    _require_wanted(run)
    if run.job.instance_id is not None:
        return None
    disk = Disk.objects.filter(pk=run.data.disk_id, instance=run.data.instance_id).first()
    if disk is None or disk.status == Disk.Status.DELETING:
        raise Fail("The disk was deleted.")
    if disk.status != Disk.Status.READY:
        return Wait(POLL_SECONDS)
    try:
        with transaction.atomic():
            if not store.join_instance(run.job, disk.instance_id):
                return Wait(POLL_SECONDS)
            ready = Disk.objects.filter(pk=disk.pk, status=Disk.Status.READY)
            if not ready.update(status=Disk.Status.NOT_READY, updated=Now()):
                raise Fail("The disk was deleted.")
            _record(run, check=True)
    except Invalid as error:
        raise Fail(unquoted(str(error))) from error
    return None


def release_disk(run: Run[ImagizeData]) -> None:
    """Mark the disk as ready again, unless the job was still waiting for the instance."""
    if run.job.instance_id is not None:
        imaged = Disk.objects.filter(pk=run.data.disk_id, status=Disk.Status.NOT_READY)
        imaged.update(status=Disk.Status.READY, updated=Now())


def remove_image_of_disk(run: Run[ImagizeData]) -> None:
    """Delete the row of an image that has no archive, and mark its disk as ready again."""
    release_disk(run)
    remove_image_row(run)


def save_disk(run: Run[ImagizeData]) -> Outcome:
    """Save the disk as the image's archive."""
    _require_wanted(run)
    disk = disk_name(run.job.instance_id, run.data.disk_id)
    progress = run.driver.save_disk(run.machine, disk, _archive(run))
    if progress.done:
        require_archive(run)
    return until(progress)


def _require_wanted(run: Run[ImageData]) -> None:
    """Raise `Fail` if the image was deleted while it is being made."""
    if not Image.objects.filter(number=run.data.image_number, status=Image.Status.CREATING).exists():
        raise Fail("The image was deleted.")


def delete_archive(run: Run[ImageData]) -> None:
    """Delete the image's archive."""
    run.archives(run.data.driver).delete_archive(_archive(run))


def delete_when_made(run: Run[ImageData]) -> Outcome:
    """Delete the image's archive, when the job that was making it has found that the image is not wanted."""
    if being_made(run.data.image_number).exists():
        return Wait(POLL_SECONDS)
    delete_archive(run)
    return None


def check_upload(run: Run[ImportData]) -> None:
    """Unpack the uploaded file once, to check that it is complete and to measure the image.

    Raises `Fail` if the file is invalid or the account's quotas do not allow its size. Raises `Fail` as well if
    unpacking takes longer than a step may, because a retry would not be faster.
    """
    _require_wanted(run)
    try:
        run.size = unpacking.measure(
            files.file_of(run.data.image_number), settings.UPLOAD_LIMIT_RAW, PART_OF_LIMIT * settings.JOB_SOFT_LIMIT
        )
    except FileNotFoundError as error:
        raise Fail("The uploaded file does not exist any more.") from error
    except Invalid as error:
        raise Fail(str(error)) from error
    _take_space(run)


def _take_space(run: Run[ImportData]) -> None:
    """Count the unpacked size for the account's quota of storage. Raises `Fail` if the account has too little."""
    image = Image.objects.filter(number=run.data.image_number, status=Image.Status.CREATING)
    try:
        with transaction.atomic():
            account_id = image.values_list("account_id", flat=True).first()
            if account_id is not None and image.update(size=run.size or 0):
                record(account_id, images=[run.data.image_number])
    except Invalid as error:
        raise Fail(unquoted(str(error))) from error


def record_size(run: Run[ImportData]) -> None:
    """Record the image's size, for the next step and for readers of the row."""
    Image.objects.filter(number=run.data.image_number).update(size=run.size or 0)


def import_upload(run: Run[ImportData]) -> Outcome:
    """Make an archive of the uploaded file."""
    _require_wanted(run)
    path = str(files.file_of(run.data.image_number))
    size = run.data.size
    if size is None:
        size = Image.objects.values_list("size", flat=True).get(number=run.data.image_number)
    return until(run.archives(run.data.driver).archive_upload(_archive(run), path, size))


def delete_import(run: Run[ImageData]) -> None:
    """Delete the archive and the file."""
    delete_archive(run)
    delete_file(run)


def delete_upload(run: Run[ImageData]) -> None:
    """Delete the uploaded file. Raises `DriverError` if the archive made of it is missing."""
    delete_file(run)
    require_archive(run)


def delete_file(run: Run[ImageData]) -> None:
    files.drop(run.data.image_number)


def inspect_archive(run: Run[ImageData]) -> None:
    """Look up whether the archive of an image that could not be deleted is still there, and its size."""
    run.size = run.archives(run.data.driver).archive_size(_archive(run))


def require_archive(run: Run[ImageData]) -> None:
    """Look up the size of the archive. Raises `DriverError` if the archive is missing."""
    inspect_archive(run)
    if run.size is None:
        raise DriverError("The archive of the image is not there.")


def mark_available(run: Run[ImageData]) -> None:
    """Mark the image as available for deployment."""
    image = Image.objects.filter(number=run.data.image_number, status=Image.Status.CREATING)
    image.update(status=Image.Status.AVAILABLE, size=run.size or 0)
    _record(run)


def remove_image_row(run: Run[ImageData]) -> None:
    """Delete the row of an image that has no archive."""
    remove_image(run.data.image_number)


def keep_image(run: Run[ImageData]) -> None:
    """Mark the image as available again, or delete its row if the archive was deleted after all."""
    if run.size is None:
        remove_image_row(run)
    else:
        Image.objects.filter(number=run.data.image_number).update(status=Image.Status.AVAILABLE)
        _record(run)


def _record(run: Run[ImageData], *, check: bool = False) -> None:
    account_id = Image.objects.filter(number=run.data.image_number).values_list("account_id", flat=True).first()
    if account_id is not None:
        record(account_id, check=check, images=[run.data.image_number])


def _archive(run: Run[ImageData]) -> str:
    return image_archive(run.data.image_number)
