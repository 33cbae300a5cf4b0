"""Receiving the image that a client uploads: a gzip file, which a worker unpacks later."""

import fcntl
import math
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from io import FileIO
from pathlib import Path
from typing import IO, Protocol

from django.conf import settings
from django.core.signing import BadSignature, TimestampSigner
from django.db import transaction
from django.urls import reverse
from django.utils.timezone import now

from accounts.actors import Actor
from compute.jobs.data import ImportData
from compute.jobs.queue import enqueue_alone
from compute.models import Image
from compute.services.images import files, unpacking
from compute.services.images.images import UPLOADED_WITHIN, upload_events
from compute.services.usage.recording import require_left
from config.errors import Invalid, Missing

CHUNK = 256 * 1024
GIGABYTE = unpacking.GIGABYTE
MEGABYTE = 1024**2
MAGIC = b"\x1f\x8b"
"""The first bytes of a gzip file (RFC 1952)."""

UNDER_WAY = "An upload of this image is under way."
USED = "The image was uploaded already."
BROKEN, ENDED_EARLY = unpacking.BROKEN, unpacking.ENDED_EARLY
TOO_MANY = "An account can have at most {most} uploads at once. Try again when one has ended, or ask support."
UPLOADS_FULL = (
    "An account can upload at most {most} GB at once. Try again when one upload is an image, or ask support."
)

STARTED_WITHIN = timedelta(minutes=2)
"""The time in which an upload must start if a signed-in browser sends the file. The upload may take longer."""

_signer = TimestampSigner(salt="compute.image-upload")
_browser_signer = TimestampSigner(salt="compute.image-upload.browser")


class Source(Protocol):
    """The stream that a request's body is read from."""

    def read(self, size: int, /) -> bytes: ...


def sign(image: Image, *, for_browser: bool = False) -> str:
    """Return a signed token that lets its bearer upload this image once. It fits in a path.

    The token is valid until `UPLOADED_WITHIN` after the image was created. With `for_browser`, it is also valid for
    only `STARTED_WITHIN`.
    """
    return (_browser_signer if for_browser else _signer).sign(str(image.number))


def address_for(image: Image, site: str, *, for_browser: bool = False) -> str:
    """Return the URL that receives the file of this image by PUT. `sign` says how long it is valid.

    `site` is the URL of the web processes, such as ``https://cloud.example.com``. They receive files if the stream
    processes have no URL of their own.
    """
    signed = sign(image, for_browser=for_browser)
    return f"{settings.STREAM_URL or site}{reverse('image-upload', kwargs={'signed': signed})}"


def receive(signed: str, source: Source, length: int) -> None:
    """Receive the file of an image, of `length` bytes, and enqueue the job that makes an archive of it.

    Raises as `begin`, `Upload.write` and `Upload.accept` do. The bytes received are then deleted, and the client
    may try again.
    """
    upload = begin(signed, length)
    try:
        while chunk := source.read(min(CHUNK, length - upload.received)):
            upload.write(chunk)
        upload.accept()
    finally:
        upload.close()


def begin(signed: str, length: int) -> "Upload":
    """Begin to receive the file of an image, of `length` bytes. `Upload.close` must be called whatever happens.

    Raises `Missing` if the token is invalid or too old, or the image is gone or too old. Raises `Invalid` if the
    image was uploaded already, if another upload of it is in progress, or if the file is too large. It also raises
    `Invalid` if the account has reached its limit of uploads, of space in the folder, or its quota of storage for
    images.
    """
    image = _waiting(signed)
    _check_length(length)
    require_left(image.account_id or 0, "image_storage", math.ceil(length / MEGABYTE))
    with ExitStack() as opened:
        opened.enter_context(_place(image.account_id or 0))
        part = files.part_of(image.number or 0)
        # without a buffer: on a full disk, closing the file would fail once more to write the buffer
        file = opened.enter_context(open(os.open(part, os.O_RDWR | os.O_CREAT, 0o600), "wb", buffering=0))
        _lock(file, part, UNDER_WAY)
        opened.callback(_drop, file, part)
        # the final size, so that the account's other uploads count it; this does not occupy space yet
        file.truncate(length)
        _check_room(image)
        return Upload(image, length, file, part, opened.pop_all())


class Upload:
    """A file that is being received, locked against other uploads of the same image. Its methods block."""

    def __init__(self, image: Image, length: int, file: FileIO, part: Path, opened: ExitStack):
        self.image = image
        self.length = length
        self.received = 0
        self.file = file
        self.part = part
        self.opened = opened

    @property
    def account(self) -> int:
        """The account whose image is uploaded."""
        return self.image.account_id or 0

    def write(self, data: bytes) -> None:
        """Write the next bytes. Raises `Invalid` if the file cannot be gzip."""
        if self.received < len(MAGIC):
            start = max(0, len(MAGIC) - self.received)
            if data[:start] != MAGIC[self.received : self.received + len(data[:start])]:
                raise Invalid(BROKEN)
        left = memoryview(data)
        while left:
            left = left[self.file.write(left) :]
        self.received += len(data)

    def accept(self) -> None:
        """Accept the completely received file, and enqueue the job that makes an archive of it.

        Raises `Invalid` if the file ended early or another upload was accepted, `Missing` if the image is gone.
        """
        if self.received < self.length:
            raise Invalid(ENDED_EARLY)
        os.fsync(self.file.fileno())
        _accept(self.image, self.part)

    def close(self) -> None:
        """Release the locks, and delete the file unless it was accepted: an accepted file has another name."""
        self.opened.close()


def _waiting(signed: str) -> Image:
    """Return the image of the signature, which waits for its upload."""
    in_time = Image.objects.filter(created__gte=now() - UPLOADED_WITHIN, account__is_active=True)
    image = in_time.filter(number=_number_in(signed)).first()
    if image is None:
        raise Missing
    if image.status != Image.Status.PENDING_UPLOAD:
        raise Invalid(USED)
    return image


def _number_in(signed: str) -> int:
    """Return the number of the image that a token is for. Raises `Missing` if the token is invalid or too old."""
    for signer, max_age in ((_signer, None), (_browser_signer, STARTED_WITHIN)):
        with suppress(BadSignature):
            return int(signer.unsign(signed, max_age=max_age))
    raise Missing


def _check_length(length: int) -> None:
    if length <= 0:
        raise Invalid("Content-Length is required.")
    if length > settings.UPLOAD_LIMIT:
        raise Invalid(unpacking.too_large("compressed", settings.UPLOAD_LIMIT))


def _lock(file: IO[bytes], path: Path, taken: str) -> None:
    """Lock the file, which was opened at this path. Raises `Invalid` if another process has locked it.

    The lock ends with the process, so that a crash leaves none.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Invalid(taken) from None
    # the upload that had the lock before may have renamed or deleted the file that was opened here
    try:
        same = os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        same = False
    if not same:
        raise Invalid(taken)


def _drop(file: IO[bytes], path: Path) -> None:
    """Delete the file if it still has this name. An accepted file was renamed, and the name may be a later
    upload's."""
    try:
        if os.path.samestat(os.fstat(file.fileno()), path.stat()):
            path.unlink()
    except FileNotFoundError:
        pass


@contextmanager
def _place(account: int) -> Iterator[None]:
    """Take one of the account's places for uploads. Raises `Invalid` if all are taken."""
    for number in range(settings.UPLOADS_AT_ONCE):
        path = files.place_of(account, number)
        with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "wb") as file:
            try:
                _lock(file, path, TOO_MANY)
            except Invalid:
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return
    raise Invalid(TOO_MANY.format(most=settings.UPLOADS_AT_ONCE))


def _check_room(image: Image) -> None:
    """Check that the account's files in the folder, including this one, are not too large together.

    Of two uploads that begin at the same moment, both may be refused, but they are never both accepted beyond the
    limit.
    """
    unfinished = (Image.Status.PENDING_UPLOAD, Image.Status.CREATING)
    numbers = Image.objects.filter(account=image.account, status__in=unfinished).values_list("number", flat=True)
    if sum(files.size(number) for number in numbers if number is not None) > settings.UPLOAD_SPACE:
        raise Invalid(UPLOADS_FULL.format(most=f"{settings.UPLOAD_SPACE / GIGABYTE:g}"))


@transaction.atomic
def _accept(image: Image, part: Path) -> None:
    """Accept exactly one upload, and only then rename its file: a job may be reading the file of an accepted
    one."""
    waiting = Image.objects.filter(pk=image.pk, status=Image.Status.PENDING_UPLOAD)
    if not waiting.update(status=Image.Status.CREATING):
        if Image.objects.filter(pk=image.pk).exists():
            raise Invalid(USED)
        raise Missing
    event = upload_events(image).get()
    actor = Actor(image.account_id or 0, username=image.created_by or "")
    enqueue_alone("import_image", actor, event, ImportData(image_number=image.own_number, driver=image.driver))
    part.rename(files.file_of(image.own_number))
