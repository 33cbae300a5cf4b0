"""Mails and short messages. A worker sends them, never a request, and none is lost.

A message is written in the transaction of the change that it reports, and sent after the commit. If a worker dies
in between, the message is sent twice rather than not at all.
"""

import logging
import re
import time
from functools import partial
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import connection, transaction
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.utils.module_loading import import_string

from accounts.models import Message, User
from config.db import leases
from config.db.rows import columns_of
from config.encryption import decrypt_json, encrypt_json
from config.errors import Missing
from config.processes.notify import notify

log = logging.getLogger(__name__)

TASK_NAME = "accounts.send_messages"
RUN_FOR = 20.0
"""Seconds after which a run claims no further message, and notifies another run."""
GONE = "The message is gone: it was sent, or discarded."
SOFT_LIMIT, HARD_LIMIT = 90, 105
"""Seconds after which a run is interrupted, which fails its current message, and after which it is killed."""
LEASE = 120.0
"""Seconds of a worker's lease on a message. Longer than a run may last, so that no two workers send one message."""
MAX_WAIT = 3600.0
"""The maximum number of seconds between a failed attempt and the next."""
MAX_ERROR_LENGTH = 1000


def mail(user: User, template: str, context: dict[str, Any] | None = None) -> Message:
    """Write a mail to a user, in the caller's transaction, from ``mails/<template>.txt`` and ``.html``.

    The first line of the text is the subject, which must hold no secret. Both templates get `context` and `user`.
    """
    return mail_to(user.email, template, {"user": user, **(context or {})})


def warn(user: User, template: str, context: dict[str, Any] | None = None) -> None:
    """Mail a user, in the caller's transaction, about a change of its way to sign in, which another person may have
    made.

    It is sent even if the user has turned notifications off. Older staff users may have no address.
    """
    if user.email:
        mail(user, template, context)


def warn_former(user: User, address: str) -> None:
    """Tell `address`, the user's until a change in the caller's transaction, about this change.

    Anyone who reads the mails of the new address can set a password, and the new address has no reason to object.
    """
    if address and address != user.email:
        mail_to(address, "address_changed", {"user": user})


def mail_to(address: str, template: str, context: dict[str, Any]) -> Message:
    """Write a mail, as `mail` does, to an address that need not be a user's."""
    values = {"site": settings.SITE_URL, **context}
    subject, _, text = render_to_string(f"mails/{template}.txt", values).partition("\n")
    html = render_to_string(f"mails/{template}.html", values)
    # Customers may write a carriage return into a subject, and Django refuses to send such a mail.
    return _post(
        Message.Channel.MAIL, address, " ".join(subject.split()), {"text": text.strip() + "\n", "html": html}
    )


def text(number: str, words: str) -> Message:
    """Write a short message to a phone number (E.164), in the caller's transaction."""
    return _post(Message.Channel.SMS, number, "", {"text": words})


def _post(channel: str, recipient: str, subject: str, content: dict[str, str]) -> Message:
    if not connection.in_atomic_block:
        raise RuntimeError("a message must be written in the transaction of the change that it reports")
    message = Message.objects.create(
        channel=channel, recipient=recipient, subject=subject, encrypted=encrypt_json(content)
    )
    transaction.on_commit(partial(notify, TASK_NAME), robust=True)
    return message


@transaction.atomic
def send_again(message: Message) -> None:
    """Make a message due now, with all its attempts. For staff. Raises `Missing` if it is gone.

    If a worker is sending the message, it is sent again only if that attempt fails.
    """
    fresh = {"attempt": 0, "given_up": False, "run_at": Now()}
    if not Message.objects.filter(pk=message.pk).update(**fresh):
        raise Missing(GONE)
    transaction.on_commit(partial(notify, TASK_NAME), robust=True)


@transaction.atomic
def discard(message: Message) -> None:
    """Delete a message that must not be sent any more. For staff. Raises `Missing` if it is gone."""
    if not Message.objects.filter(pk=message.pk).delete()[0]:
        raise Missing(GONE)


def send_due() -> int:
    """Send the messages that are due, and return the number sent. Any number of workers may run it at once."""
    until, sent = time.monotonic() + RUN_FOR, 0
    while (message := claim()) is not None:
        sent += _send(message)
        if time.monotonic() > until:
            notify(TASK_NAME)
            break
    return sent


# Not ``*``: its result changes with each column that a migration adds, and PostgreSQL then refuses the statement
# that workers of the previous release have prepared.
_COLUMNS = ", ".join(columns_of(Message))
_FIRST_DUE = f"""
SELECT id FROM accounts_message
 WHERE NOT given_up AND {leases.FREE}
 ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED
"""  # noqa: S608 - of constants
# `run_at` as well: during an upgrade, workers of the previous release run at the same time, and know no lease.
_CLAIM = f"""
UPDATE accounts_message
   SET {leases.taken()}, attempt = attempt + 1, run_at = {leases.after("%(lease)s")}
 WHERE {leases.chosen("id", _FIRST_DUE)}
RETURNING {_COLUMNS}
"""  # noqa: S608 - of constants

# If `send_again` has set `attempt` to 0 meanwhile, the message has all its attempts, and is due now.
_POSTPONE = f"""
UPDATE accounts_message
   SET {leases.GIVEN_BACK}, error = %(error)s, given_up = attempt >= %(attempts)s,
       run_at = CASE WHEN attempt = 0 THEN run_at ELSE {leases.after("%(delay)s")} END
 WHERE id = %(id)s AND {leases.MINE}
"""  # noqa: S608 - of constants


def claim() -> Message | None:
    """Claim a message that is due, for this worker alone until its lease runs out. Return None if there is none."""
    values = {"lease": LEASE, "horizon": leases.horizon_of(MAX_WAIT, LEASE)}
    return next(iter(Message.objects.raw(_CLAIM, values)), None)


def settle(message: Message) -> bool:
    """Delete a message that was sent. Return False if it is gone, or another worker has claimed it."""
    return bool(Message.objects.filter(pk=message.pk, fence=message.fence).delete()[0])


def postpone(message: Message, error: str) -> bool:
    """Write an attempt's error, and postpone the message. Each time the delay grows. After the last attempt, give
    it up.

    Returns False if the message is gone, or another worker has claimed it.
    """
    values = {
        "id": message.pk, "fence": message.fence, "error": error[:MAX_ERROR_LENGTH],
        "attempts": settings.MESSAGE_ATTEMPTS, "delay": min(2**message.attempt * 5, MAX_WAIT),
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_POSTPONE, values)
        return cursor.rowcount == 1


def _send(message: Message) -> bool:
    """Deliver one message, and return whether this worked. After an error the message is retried later."""
    content: dict[str, str] = {}
    try:
        content = decrypt_json(message.encrypted)
        if not message.recipient:
            # This message has no recipient: its request must take as long as a request for an existing user.
            settle(message)
            return False
        deliver = _deliver_mail if message.channel == Message.Channel.MAIL else _deliver_text
        deliver(message, content)
    except Exception as error:  # noqa: BLE001 - whatever a gateway raises, the message must stay due
        words = _without(content, f"{type(error).__name__}: {error}")
        log.warning("message %s failed, attempt %s: %s", message.pk, message.attempt, words)
        postpone(message, words)
        return False
    settle(message)
    return True


_MAY_BE_SECRET = re.compile(r"(?=[\w-]*\d)[\w-]{6,}")
"""Codes, and the parts of addresses that give access: words with a digit in them."""


def _without(content: dict[str, str], error: str) -> str:
    """Return the error without secrets of the content.

    A gateway's errors name its address, which contains the text. Mail servers quote the links that they refuse.
    """
    for word in set(_MAY_BE_SECRET.findall(content.get("text", ""))):
        error = error.replace(word, "…")
    return error


def _deliver_mail(message: Message, content: dict[str, str]) -> None:
    letter = EmailMultiAlternatives(message.subject, content["text"], to=[message.recipient])
    letter.attach_alternative(content["html"], "text/html")
    letter.send()


def _deliver_text(message: Message, content: dict[str, str]) -> None:
    gateway = import_string(settings.SMS_GATEWAY)
    gateway(message.recipient, content["text"])
