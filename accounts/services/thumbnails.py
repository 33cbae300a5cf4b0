"""The pictures of OAuth clients. A web process reads only their headers, and a worker draws them.

A small file can take long to decode, or much memory. So it is decoded in a process of its own that the kernel
limits (`accounts.pictures`). The platform decodes one picture at a time, and never where requests are answered.
"""

import logging
import subprocess
import sys
import time
from functools import partial

from django.db import transaction

from accounts import pictures
from accounts.actors import Actor
from accounts.models import OAuthClient, Picture
from accounts.services.events import record_event
from accounts.services.refs import client_ref
from config.db import leases
from config.db.rows import columns_of, lock
from config.errors import Invalid, Missing
from config.processes.notify import notify

log = logging.getLogger(__name__)

TASK_NAME = "accounts.draw_pictures"
MAX_PICTURE_SIZE = 1024 * 1024
"""The maximum number of bytes of a picture."""
TOO_LARGE = f"The picture must be at most {MAX_PICTURE_SIZE // 1024} KB."
DRAWN_WITHIN = 15.0
"""Seconds of real time for one picture. `accounts.pictures` limits the processor time."""
RUN_FOR = 20.0
"""Seconds after which a run claims no further picture, and notifies another run."""
SOFT_LIMIT, HARD_LIMIT = 45, 60
LEASE = 75.0
"""Seconds of a worker's lease on a picture. Longer than a run may last."""
ATTEMPTS = 3
"""The maximum number of attempts.

A worker that dies settles nothing, so a picture that kills it is not retried for ever.
"""
UNDRAWN = "The uploaded picture is broken, or too large to process. The previous picture stays."


class Undrawn(Exception):
    """The picture is broken, or exceeds its limits of time or memory."""


@transaction.atomic
def send(actor: Actor, client: OAuthClient, picture: bytes) -> None:
    """Store a PNG or JPEG file for the client's thumbnail, in place of one that is not drawn yet.

    Until it is drawn, the client shows its present thumbnail. Raises `Invalid` on ``thumbnail`` if the header is
    refused, and `Missing` if another request deleted the client.
    """
    if trouble := pictures.trouble_in(picture):
        raise Invalid(trouble, "thumbnail")
    locked = lock(OAuthClient.objects.filter(pk=client.pk).only("pk"))
    # Replaced and not changed: a worker that draws the earlier picture then finds that its row is gone.
    Picture.objects.filter(client=locked).delete()
    Picture.objects.create(client=locked, content=picture)
    record_event(actor, "oauth_client_update", client_ref(client))
    transaction.on_commit(partial(notify, TASK_NAME), robust=True)


def draw_due() -> int:
    """Draw the pictures that are due, and return the number drawn. While one worker draws, others draw none."""
    until, done = time.monotonic() + RUN_FOR, 0
    while (picture := claim()) is not None:
        done += _draw(picture)
        if time.monotonic() > until:
            notify(TASK_NAME)
            break
    return done


_COLUMNS = ", ".join(columns_of(Picture))
_BEING_DRAWN = f"SELECT FROM accounts_picture WHERE {leases.leased()}"
_FIRST_DUE = f"""
SELECT id FROM accounts_picture
 WHERE {leases.FREE} AND NOT EXISTS ({_BEING_DRAWN})
 ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED
"""  # noqa: S608 - of constants
_CLAIM = f"""
UPDATE accounts_picture
   SET {leases.taken()}, attempt = attempt + 1
 WHERE {leases.chosen("id", _FIRST_DUE)}
RETURNING {_COLUMNS}
"""  # noqa: S608 - of constants


def claim() -> Picture | None:
    """Claim a picture that is due, for this worker alone until its lease ends.

    Returns None if there is none, or another worker draws. Two workers that claim at the same moment may both get
    one, which does no harm.
    """
    values = {"lease": LEASE, "horizon": leases.horizon_of(LEASE)}
    return next(iter(Picture.objects.raw(_CLAIM, values)), None)


def _draw(picture: Picture) -> bool:
    try:
        if picture.attempt > ATTEMPTS:
            raise Undrawn("it was tried before")
        thumbnail = drawn_apart(bytes(picture.content))
    except Undrawn as error:
        log.info("the picture of OAuth client %s is not drawn: %s", picture.client_id, error)
        return settle(picture, None)
    return settle(picture, thumbnail)


def drawn_apart(content: bytes) -> bytes:
    """Return the picture as a small PNG, drawn by a process of its own, which gets no secret of this one.

    Raises `Undrawn`.
    """
    command = [sys.executable, "-I", pictures.__file__]
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter and a file of ours
            command, input=content, capture_output=True, timeout=DRAWN_WITHIN, env={}, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Undrawn(f"it takes more than {DRAWN_WITHIN:g} s") from error
    if done.returncode:
        raise Undrawn("it is broken" if done.returncode == pictures.BROKEN_EXIT else f"ended by {done.returncode}")
    return done.stdout


@transaction.atomic
def settle(picture: Picture, thumbnail: bytes | None) -> bool:
    """Give the client its thumbnail. If None was drawn, keep the present thumbnail and record an event.

    Returns False if the picture is gone, since another one replaced it or the client was deleted, or if another
    worker claimed it.
    """
    try:
        client = lock(OAuthClient.objects.filter(pk=picture.client_id).defer("thumbnail"))
    except Missing:
        return False
    if not Picture.objects.filter(pk=picture.pk, fence=picture.fence).delete()[0]:
        return False
    if thumbnail is not None:
        OAuthClient.objects.filter(pk=client.pk).update(thumbnail=thumbnail)
    elif client.account_id is not None:
        platform = Actor.platform(client.account_id)
        record_event(platform, "oauth_client_update", client_ref(client), message=UNDRAWN)
    return True
