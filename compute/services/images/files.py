"""Where uploaded images lie until a job has made archives of them: one folder that web and workers share."""

from pathlib import Path

from django.conf import settings


def folder() -> Path:
    """The folder, which is made where it is not there, readable by the service alone."""
    path = Path(settings.UPLOADS_DIR)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def file_of(number: int) -> Path:
    """The file of an image that came in whole."""
    return folder() / f"{number}.gz"


def part_of(number: int) -> Path:
    """The file of an image that is coming in."""
    return folder() / f"{number}.part"


def drop(number: int) -> None:
    """Delete whatever there is of an image."""
    part_of(number).unlink(missing_ok=True)
    file_of(number).unlink(missing_ok=True)


def numbers() -> set[int]:
    """The numbers of all images that there are files of."""
    return {int(path.stem) for path in folder().iterdir() if path.stem.isdecimal()}
