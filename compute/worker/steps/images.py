"""The steps of images: archiving a disk, importing an upload, and deleting archives."""

from compute.drivers.base import DriverError
from compute.jobs.data import ImageData, ImagizeData, ImportData
from compute.jobs.definition import Outcome
from compute.machine_names import disk_name
from compute.models import Image
from compute.models.catalogue import image_archive
from compute.services.images import files
from compute.services.removal import remove_image
from compute.worker.run import Run, until


def save_disk(run: Run[ImagizeData]) -> Outcome:
    """Save the disk as the image's archive."""
    disk = disk_name(run.job.instance_id, run.data.disk_id)
    progress = run.driver.save_disk(run.machine, disk, _archive(run))
    if progress.done:
        require_archive(run)
    return until(progress)


def delete_archive(run: Run[ImageData]) -> None:
    """Delete the image's archive."""
    run.driver.delete_archive(_archive(run))


def import_upload(run: Run[ImportData]) -> Outcome:
    """Make an archive of the uploaded file."""
    path = str(files.file_of(run.data.image_number))
    return until(run.driver.archive_upload(_archive(run), path, run.data.size))


def delete_import(run: Run[ImageData]) -> None:
    """Delete the archive and the file."""
    delete_archive(run)
    delete_file(run)


def delete_upload(run: Run[ImageData]) -> None:
    """Delete the uploaded file. Raises `DriverError` where the archive made of it is missing."""
    delete_file(run)
    require_archive(run)


def delete_file(run: Run[ImageData]) -> None:
    files.drop(run.data.image_number)


def inspect_archive(run: Run[ImageData]) -> None:
    """Look up whether the archive of an image that could not be deleted is still there, and its size."""
    run.size = run.driver.archive_size(_archive(run))


def require_archive(run: Run[ImageData]) -> None:
    """Look up the size of the archive. Raises `DriverError` where the archive is missing."""
    inspect_archive(run)
    if run.size is None:
        raise DriverError("The archive of the image is not there.")


def mark_available(run: Run[ImageData]) -> None:
    """Mark the image as available for deployment."""
    image = Image.objects.filter(number=run.data.image_number, status=Image.Status.CREATING)
    image.update(status=Image.Status.AVAILABLE, size=run.size or 0)


def remove_image_row(run: Run[ImageData]) -> None:
    """Delete the row of an image that has no archive."""
    remove_image(run.data.image_number)


def keep_image(run: Run[ImageData]) -> None:
    """Mark the image as available again, or delete its row if the archive was deleted after all."""
    if run.size is None:
        remove_image_row(run)
    else:
        Image.objects.filter(number=run.data.image_number).update(status=Image.Status.AVAILABLE)


def _archive(run: Run[ImageData]) -> str:
    return image_archive(run.data.image_number)
