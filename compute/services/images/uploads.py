"""Receiving the image that a client uploads: a gzip file, checked as it comes in, in bounded memory."""

import fcntl
import os
import zlib
from pathlib import Path
from typing import BinaryIO, Protocol

from django.conf import settings
from django.core.signing import BadSignature, TimestampSigner
from django.db import transaction

from accounts.actors import Actor
from compute.jobs.data import ImportData
from compute.jobs.queue import enqueue_alone
from compute.models import Image
from compute.services.images import files
from compute.services.images.images import UPLOADED_WITHIN, upload_event
from config.errors import Invalid, Missing

CHUNK = 256 * 1024
MOST_MEMBERS = 10_000
"""Members of one gzip file: each costs a new decompressor, and compressors that work in parallel make few."""
GIGABYTE = 1024**3

UNDER_WAY = "An upload of this image is under way."
USED = "The image was uploaded already."
BROKEN = "The file is not gzip, or is broken."
SHORT = "The upload ended early."

_signer = TimestampSigner(salt="compute.image-upload")


class Source(Protocol):
    """The stream that a request's body is read from."""

    def read(self, size: int, /) -> bytes: ...


def sign(image: Image) -> str:
    """A signed token that lets its bearer upload this image, once and within 24 hours. Fits in a path."""
    return _signer.sign(str(image.number))


def receive(signed: str, source: Source, length: int) -> None:
    """Receive the file of an image, of `length` bytes, and enqueue the job that makes an archive of it.

    Raises `Missing` where the signature is invalid or too old or the image is gone; `Invalid` where the image was
    uploaded already, while another upload of it is under way, and where the file is too large, cut off or not gzip.
    The bytes received are then deleted, and the client may try again.
    """
    image = _waiting(signed)
    _check_length(length)
    part = files.part_of(image.number or 0)
    with open(os.open(part, os.O_RDWR | os.O_CREAT, 0o600), "wb") as file:
        _lock(file, part)
        try:
            file.truncate(0)
            size = _copy(source, length, file)
            file.flush()
            os.fsync(file.fileno())
            _accept(image, part, size)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _waiting(signed: str) -> Image:
    """The image that the signature is for, which waits for its upload."""
    try:
        number = int(_signer.unsign(signed, max_age=UPLOADED_WITHIN))
    except BadSignature:
        raise Missing from None
    image = Image.objects.filter(number=number, account__is_active=True).first()
    if image is None:
        raise Missing
    if image.status != Image.Status.PENDING_UPLOAD:
        raise Invalid(USED)
    return image


def _check_length(length: int) -> None:
    if length <= 0:
        raise Invalid("Content-Length is required.")
    if length > settings.UPLOAD_LIMIT:
        raise Invalid(_too_large("compressed", settings.UPLOAD_LIMIT))


def _too_large(what: str, most: int) -> str:
    return f"The image must be at most {most / GIGABYTE:g} GB {what}."


def _lock(file: BinaryIO, part: Path) -> None:
    """Lock the file against other uploads. The lock ends with the process, so that a crash leaves none."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Invalid(UNDER_WAY) from None
    # the upload that had the lock before may have renamed or deleted the file that was opened here
    try:
        same = os.path.samestat(os.fstat(file.fileno()), part.stat())
    except FileNotFoundError:
        same = False
    if not same:
        raise Invalid(UNDER_WAY)


def _copy(source: Source, length: int, file: BinaryIO) -> int:
    """Write the request's body to the file, and return how many MB it unpacks to."""
    check = _GzipCheck(settings.UPLOAD_LIMIT_RAW)
    left = length
    while left:
        chunk = source.read(min(CHUNK, left))
        if not chunk:
            raise Invalid(SHORT)
        check.feed(chunk)
        file.write(chunk)
        left -= len(chunk)
    check.end()
    return -(-check.size // 1024**2)


@transaction.atomic
def _accept(image: Image, part: Path, size: int) -> None:
    """Accept exactly one upload, and only then rename its file: a job may be at work on the file of another one."""
    waiting = Image.objects.filter(pk=image.pk, status=Image.Status.PENDING_UPLOAD)
    if not waiting.update(status=Image.Status.CREATING):
        if Image.objects.filter(pk=image.pk).exists():
            raise Invalid(USED)
        raise Missing
    event = upload_event(image)
    assert event is not None  # noqa: S101 - it is opened with the image, and ends with its upload
    assert image.account_id is not None and image.number is not None  # noqa: S101, PT018 - or it had no upload
    actor = Actor(image.account_id, username=image.created_by or "")
    enqueue_alone("import_image", actor, event, ImportData(image_number=image.number, size=size))
    part.rename(files.file_of(image.number))


class _GzipCheck:
    """Decompresses a gzip file piece by piece, only to check that it is whole and to measure it.

    As gzip itself it accepts several members, one after the other, and zeros after the last.
    """

    def __init__(self, most: int):
        self.most = most
        self.size = 0
        self.members = 0
        self.member = zlib.decompressobj(wbits=31)
        self.between = False

    def feed(self, data: bytes) -> None:
        while data:
            if self.between:
                data = data.lstrip(b"\0")
                if not data:
                    return
                self.member, self.between = zlib.decompressobj(wbits=31), False
            self._decompress(data)
            if self.member.eof:
                data, self.between = self.member.unused_data, True
                self.members += 1
                if self.members > MOST_MEMBERS:
                    raise Invalid(f"The file has more than {MOST_MEMBERS} gzip members.")
            else:
                data = self.member.unconsumed_tail

    def end(self) -> None:
        """Check that the file is complete. What it unpacks to may be nothing."""
        while not self.between and self._decompress(b""):
            pass
        if not self.between and not self.member.eof:
            raise Invalid(SHORT)

    def _decompress(self, data: bytes) -> int:
        try:
            made = len(self.member.decompress(data, CHUNK))
        except zlib.error:
            raise Invalid(BROKEN) from None
        self.size += made
        if self.size > self.most:
            raise Invalid(_too_large("uncompressed", self.most))
        return made
