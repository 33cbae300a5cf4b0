"""The folder of uploaded images, which web and worker processes share. Files stay until a job has archived them."""

from pathlib import Path

from django.conf import settings

from config.environment import folders


def folder() -> Path:
    """The folder, readable by the service alone; it is created if missing."""
    path = Path(settings.UPLOADS_DIR)
    folders.make_private(path)
    return path


def file_of(number: int) -> Path:
    """The path of an image whose upload is complete."""
    return folder() / f"{number}.gz"


def part_of(number: int) -> Path:
    """The path of an image whose upload is under way."""
    return folder() / f"{number}.part"


def place_of(account: int, number: int) -> Path:
    """Return the path of a lock that one upload of an account holds. Each account has several such locks."""
    places = folder() / "accounts"
    places.mkdir(mode=0o700, exist_ok=True)
    return places / f"{account}.{number}"


def size(number: int) -> int:
    """Return the bytes of an image's file. A file that is still being received has its final size from the
    start."""
    for path in (part_of(number), file_of(number)):
        try:
            return path.stat().st_size
        except FileNotFoundError:
            continue
    return 0


def drop(number: int) -> None:
    """Delete the files of an image, if there are any."""
    part_of(number).unlink(missing_ok=True)
    file_of(number).unlink(missing_ok=True)


def numbers() -> set[int]:
    """The numbers of all images with a file in the folder."""
    return {int(path.stem) for path in folder().iterdir() if path.stem.isdecimal()}
