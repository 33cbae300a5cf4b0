"""Mails and short messages, sent by a worker: never in a request, and never lost.

A message is written in the transaction of what it tells, and sent after that is committed. A worker that dies in
between sends it twice rather than not at all.
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
from config.encryption import decrypt_json, encrypt_json
from config.errors import Missing
from config.notify import notify

log = logging.getLogger(__name__)

TASK = "accounts.send_messages"
RUN_FOR = 20.0
"""Seconds after which a run takes no further message, and notifies another run."""
GONE = "The message is gone: it was sent, or discarded."
SOFT_LIMIT, HARD_LIMIT = 90, 105
"""Seconds after which a run is told to stop, which fails the message in hand, and after which it is killed."""
LEASE = 120.0
"""Seconds that a message is one worker's. Longer than a run may last, so that no two workers send it."""
LONGEST_WAIT = 3600.0
"""Seconds after which a message that failed is tried again at the latest."""
LONGEST_ERROR = 1000


def mail(user: User, template: str, context: dict[str, Any] | None = None) -> Message:
    """Write a mail to a user, in the caller's transaction, from ``mails/<template>.txt`` and ``.html``.

    The first line of the text is the subject, which must hold no secret. `context` is there for both, with `user`.
    """
    return mail_to(user.email, template, {"user": user, **(context or {})})


def warn(user: User, template: str) -> None:
    """Mail a user, in the caller's transaction, of a change of what it signs in with, which it may not have made.

    Whether it wants mails does not matter. Staff of old may have no address.
    """
    if user.email:
        mail(user, template)


def mail_to(address: str, template: str, context: dict[str, Any]) -> Message:
    """As `mail`, to somebody who need not be a user."""
    values = {"site": settings.SITE_URL, **context}
    subject, _, text = render_to_string(f"mails/{template}.txt", values).partition("\n")
    html = render_to_string(f"mails/{template}.html", values)
    # no mail is sent with a carriage return in its subject, which customers may write
    return _post(
        Message.Channel.MAIL, address, " ".join(subject.split()), {"text": text.strip() + "\n", "html": html}
    )


def text(number: str, words: str) -> Message:
    """Write a short message to a phone number (E.164), in the caller's transaction."""
    return _post(Message.Channel.SMS, number, "", {"text": words})


def _post(channel: str, recipient: str, subject: str, content: dict[str, str]) -> Message:
    if not connection.in_atomic_block:
        raise RuntimeError("a message is written in the transaction of what it tells")
    message = Message.objects.create(
        channel=channel, recipient=recipient, subject=subject, encrypted=encrypt_json(content)
    )
    transaction.on_commit(partial(notify, TASK), robust=True)
    return message


@transaction.atomic
def send_again(message: Message) -> None:
    """Let a message be due now, with all its tries before it. For staff. Raises `Missing` where it is gone.

    One that a worker has in hand is tried again only where that fails.
    """
    fresh = {"attempt": 0, "given_up": False, "run_at": Now()}
    if not Message.objects.filter(pk=message.pk).update(**fresh):
        raise Missing(GONE)
    transaction.on_commit(partial(notify, TASK), robust=True)


@transaction.atomic
def discard(message: Message) -> None:
    """Delete a message that is not to be sent any more. For staff. Raises `Missing` where it is gone."""
    if not Message.objects.filter(pk=message.pk).delete()[0]:
        raise Missing(GONE)


def send_due() -> int:
    """Send what is due, and return how many went out. Any number of workers may do so at once."""
    until, sent = time.monotonic() + RUN_FOR, 0
    while (message := claim()) is not None:
        sent += _send(message)
        if time.monotonic() > until:
            notify(TASK)
            break
    return sent


# Not ``*``: its result changes with each column that a migration adds, and PostgreSQL then refuses the statement
# that workers of the release before have prepared.
_COLUMNS = ", ".join(field.attname for field in Message._meta.concrete_fields)
_FIRST_DUE = f"""
SELECT id FROM accounts_message
 WHERE NOT given_up AND {leases.FREE}
 ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED
"""  # noqa: S608 - of constants
# `run_at` as well: during an upgrade workers of the release before run beside this one, and know no lease.
_CLAIM = f"""
UPDATE accounts_message
   SET {leases.taken()}, attempt = attempt + 1, run_at = {leases.after("%(lease)s")}
 WHERE {leases.chosen("id", _FIRST_DUE)}
RETURNING {_COLUMNS}
"""  # noqa: S608 - of constants

# Staff who let it be sent again meanwhile have set `attempt` to 0: then it has all its tries, and is due now.
_POSTPONE = f"""
UPDATE accounts_message
   SET {leases.GIVEN_BACK}, error = %(error)s, given_up = attempt >= %(attempts)s,
       run_at = CASE WHEN attempt = 0 THEN run_at ELSE {leases.after("%(delay)s")} END
 WHERE id = %(id)s AND {leases.MINE}
"""  # noqa: S608 - of constants


def claim() -> Message | None:
    """A message that is due, for this worker alone until its lease runs out; None where there is none."""
    values = {"lease": LEASE, "horizon": leases.horizon_of(LONGEST_WAIT, LEASE)}
    return next(iter(Message.objects.raw(_CLAIM, values)), None)


def settle(message: Message) -> bool:
    """Forget a message that was sent. False where it is not this worker's any more: somebody else sees to it."""
    return bool(Message.objects.filter(pk=message.pk, fence=message.fence).delete()[0])


def postpone(message: Message, error: str) -> bool:
    """Write what went wrong, and try again later, each time a little later, or give it up after the last attempt.

    False where the message is not this worker's any more.
    """
    values = {
        "id": message.pk, "fence": message.fence, "error": error[:LONGEST_ERROR],
        "attempts": settings.MESSAGE_ATTEMPTS, "delay": min(2**message.attempt * 5, LONGEST_WAIT),
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_POSTPONE, values)
        return cursor.rowcount == 1


def _send(message: Message) -> bool:
    """Hand one message over. What goes wrong is written beside it, and tried again later."""
    content: dict[str, str] = {}
    try:
        content = decrypt_json(message.encrypted)
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
"""Codes, and the parts of addresses that let somebody in: words with a digit in them."""


def _without(content: dict[str, str], error: str) -> str:
    """The error, without what of the content it repeats: gateways are asked with the text in their address, and
    errors name that; mail servers quote the links they refuse."""
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
