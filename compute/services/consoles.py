"""Consoles in browsers: permission to use them, single-use tickets, and the record of each session.

A page asks for a ticket. Its browser brings the ticket to a stream process, which reads no cookies, within
`TICKET_SECONDS`. A session lasts while its user could open it again: the process calls `recheck` regularly.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.sessions.models import Session
from django.core.signing import BadSignature, TimestampSigner
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.models import TrustedDevice, User
from accounts.services import attempts
from accounts.services.retention import delete_in_batches
from compute.models import ConsoleSession, Instance
from config.errors import Denied, Invalid, Missing

TICKET_SECONDS = 30
_signer = TimestampSigner(salt="compute.console")
WRITE = "compute.add_consolesession"
"""The permission that staff need to use consoles."""

INSTANCE_OFF = "The instance is off."
INSTANCE_DELETED = "The instance was deleted."
SIGNED_OUT = "You are signed out in this browser."
NO_RIGHTS = "You may not change this instance any more."
NO_PERMISSION = "Your admin permissions do not allow this."
TURNED_OFF = "Consoles are turned off in your profile: its lish_auth_method is disabled."
KEYS_ONLY = (
    "Your profile allows consoles only with keys (lish_auth_method). Sign in with a security key, in a"
    " browser that is not remembered."
)
OPENED_AGAIN = "You opened this console somewhere else."
TAKEN_OVER = "{name} took over this console."
ENDED_BY_STAFF = "The platform's staff ended this console."
TOO_MANY = "You have {most} consoles open. Close one first."
AT_IT = "{name} opened this console at {since:%H:%M} UTC."
SOMEBODY = "A member of the platform's staff"
_OFF_STATUSES = (Instance.Status.OFFLINE, Instance.Status.STOPPED)
"""Statuses of instances that are off. For other statuses, only the driver knows whether the machine is on."""


class Occupied(Invalid):
    """Somebody else is at the console, and can be asked to leave. Answers 400."""


class Full(Invalid):
    """The user has as many consoles as allowed. Consoles of a process that has just stopped count for a minute."""


@dataclass(frozen=True, slots=True)
class Browser:
    """The browser that asks for a ticket.

    `origin` is the page's origin, such as ``https://cloud.example.com``. `session` is the hash of the sign-in's id,
    as in its table. `device` is the row of the remembered browser. `by_key` tells whether the user signed in with a
    security key.
    """

    origin: str
    session: str
    ip: str | None
    device: int | None
    by_key: bool


def ask(user: User, instance: Instance, browser: Browser, *, take_over: bool = False) -> str:
    """Return a ticket for the console of an instance of the user's account.

    The user's own session at this console ends. With `take_over`, other users' sessions end too. Raises `Denied` if
    the user may not use the console, `TooMany` after too many tickets, `Occupied` if somebody else is at the
    console, and `Invalid` if the instance is off.
    """
    return _ask(ConsoleSession(user=user, instance=instance), user, instance, browser, take_over)


def ask_as_staff(user: User, instance: Instance, browser: Browser, reason: str, *, take_over: bool = False) -> str:
    """As `ask`, for staff, who must give a reason. The reason is written into the admin's log."""
    reason = reason.strip()
    if not reason:
        raise Invalid("Enter the reason for opening the console. The reason is logged.", "reason")
    if not reason.isprintable():
        raise Invalid("Must be one line of text.", "reason")
    if len(reason) > 500:
        raise Invalid("Length must be at most 500 characters", "reason")
    session = ConsoleSession(user=user, instance=instance, staff=True, reason=reason)
    return _ask(session, user, instance, browser, take_over)


@transaction.atomic
def _ask(session: ConsoleSession, user: User, instance: Instance, browser: Browser, take_over: bool) -> str:
    session.origin, session.browser, session.ip = browser.origin, browser.session, browser.ip
    session.device, session.by_key = browser.device, browser.by_key
    session.credentials = _credentials(user)
    session.username, session.instance_number, session.instance_label = user.username, instance.pk, instance.label
    if why := refusal(session):
        raise Denied(why)
    if instance.status in _OFF_STATUSES:
        raise Invalid(INSTANCE_OFF)
    attempts.check("console", f"user:{user.pk}")
    _make_room(session, instance, take_over)
    ticket = _signer.sign(secrets.token_urlsafe(24))
    session.ticket = _digest(ticket)
    session.save(force_insert=True)
    if session.staff:
        LogEntry.objects.log_actions(user.pk, [instance], CHANGE, f"Console: {session.reason}", single_object=True)
    return ticket


def _make_room(session: ConsoleSession, instance: Instance, take_over: bool) -> None:
    """End the sessions at the console. Raises `Occupied`, and `Invalid` if the user has too many other consoles."""
    # the row is locked, so that of two requests at once the second finds the first
    Instance.objects.select_for_update().filter(pk=instance.pk).first()
    there = ConsoleSession.objects.in_use().filter(instance=session.instance_id)
    others = there.exclude(user=session.user_id)
    other = others.select_related("user").first()
    if other is not None and not take_over:
        raise Occupied(AT_IT.format(name=_name(other, session), since=other.opened))
    others.update(to_end=TAKEN_OVER.format(name=_own_name(session)))
    there.filter(user=session.user_id).update(to_end=OPENED_AGAIN)
    _check_number(session)


def _check_number(session: ConsoleSession) -> None:
    """Raise `Full` if the user has too many consoles. Several sessions at one console count once: a dead process
    may leave one."""
    there = ConsoleSession.objects.in_use().filter(user=session.user_id, to_end="")
    elsewhere = there.exclude(instance=session.instance_id).values("instance").distinct()
    if elsewhere.count() >= settings.CONSOLES_PER_USER:
        raise Full(TOO_MANY.format(most=settings.CONSOLES_PER_USER))


def is_ticket(ticket: str) -> bool:
    """Tell whether the ticket was made here, and not long ago. Reads no table, so invalid tickets cost next to
    nothing."""
    try:
        _signer.unsign(ticket, max_age=2 * TICKET_SECONDS)  # by this machine's clock, the database's decides
    except BadSignature:
        return False
    return True


@transaction.atomic
def admit(ticket: str, origin: str) -> ConsoleSession:
    """Begin the session of a ticket and return it. A ticket can be used once.

    Raises `Missing` if the ticket is invalid, was used, is too old, or comes from a page of another site. Raises
    `DomainError` if the user may not use the console any more.
    """
    young = Now() - timedelta(seconds=TICKET_SECONDS)
    asked = ConsoleSession.objects.filter(ticket=_digest(ticket), created__gt=young)
    # locked as in `_make_room`: of two tickets at once, the second finds the first at the console
    Instance.objects.select_for_update().filter(pk__in=asked.values("instance")).first()
    session = asked.select_for_update().first()
    if session is None or session.instance is None:
        raise Missing
    if not secrets.compare_digest(session.origin.encode(), origin.encode()):
        raise Missing
    if why := refusal(session):
        raise Denied(why)
    _check_number(session)
    own = ConsoleSession.objects.in_use().filter(instance=session.instance_id, user=session.user_id)
    own.update(to_end=OPENED_AGAIN)
    # a request of a process of the previous release has no names
    named = {
        "username": _username(session),
        "instance_number": session.instance.pk,
        "instance_label": session.instance.label,
    }
    ConsoleSession.objects.filter(pk=session.pk).update(ticket=None, opened=Now(), seen=Now(), **named)
    return session


def still_there(sessions: Sequence[int]) -> Mapping[int, str]:
    """Renew the sessions' heartbeats, and return the sessions that must end, with the reason for each.

    One statement renews all sessions of a process. If a session has no row, a process of the previous release
    deleted its instance: that release also deleted the sessions.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STILL_THERE, [list(sessions), INSTANCE_DELETED, SIGNED_OUT])
        found = dict(cursor.fetchall())
    return {pk: found.get(pk, INSTANCE_DELETED) for pk in sessions if found.get(pk, INSTANCE_DELETED)}


_STILL_THERE = """
UPDATE compute_consolesession SET seen = statement_timestamp() WHERE id = ANY(%s) AND ended IS NULL
RETURNING id, CASE WHEN instance_id IS NULL THEN %s WHEN user_id IS NULL THEN %s ELSE to_end END
"""


def recheck(session_id: int) -> str:
    """Return the reason why the user of a session may not stay at the console; empty if the user may stay."""
    session = _whole(ConsoleSession.objects.filter(pk=session_id)).first()
    return INSTANCE_DELETED if session is None or session.instance_id is None else refusal(session)


def leave(session_id: int, outcome: str) -> None:
    """Record the end of a session, and the reason."""
    ConsoleSession.objects.filter(pk=session_id, ended=None).update(ended=Now(), seen=Now(), outcome=outcome)


def end(session: ConsoleSession) -> None:
    """End a session as staff. Its user is disconnected within seconds. Raises `Invalid` if the session has
    ended."""
    if not ConsoleSession.objects.in_use().filter(pk=session.pk).update(to_end=ENDED_BY_STAFF):
        raise Invalid("Nobody uses this console any more.")


def refusal(session: ConsoleSession) -> str:
    """Return the reason why the session's user may not use the console in this browser; empty if the user may."""
    user = session.user
    if user is None or not user.is_active:
        return SIGNED_OUT
    account = user.account
    if account is not None and not account.is_active:
        return SIGNED_OUT
    if not _is_signed_in(session, user):
        return SIGNED_OUT
    if session.staff:
        return "" if user.is_staff and user.has_perm(WRITE) else NO_PERMISSION
    actor = Actor(user.account_id or 0, user.pk, user.username, user.restricted)
    if session.instance is None or not Instance.objects.writable_by(actor).filter(pk=session.instance.pk).exists():
        return NO_RIGHTS
    if user.lish_auth_method == User.LishAuthMethod.DISABLED:
        return TURNED_OFF
    if user.lish_auth_method == User.LishAuthMethod.KEYS_ONLY and not session.by_key:
        return KEYS_ONLY
    return ""


def delete_old() -> int:
    """Delete sessions that ended, or were never begun, longer ago than LOGINS_KEPT, and return their number."""
    silent = Q(seen=None) | Q(seen__lt=Now() - ConsoleSession.SILENCE)
    return delete_in_batches(ConsoleSession.objects.filter(silent, created__lt=Now() - settings.LOGINS_KEPT))


def _is_signed_in(session: ConsoleSession, user: User) -> bool:
    if session.credentials != _credentials(user):
        return False
    if session.device is not None and not TrustedDevice.objects.active().filter(pk=session.device).exists():
        return False
    return Session.objects.filter(session_key=session.browser, expire_date__gt=Now()).exists()


def _whole(sessions: Any) -> Any:
    return sessions.select_related("user__account", "instance__host")


def _digest(ticket: str) -> str:
    return hashlib.sha256(ticket.encode()).hexdigest()


def _credentials(user: User) -> str:
    return hashlib.sha256(user.get_session_auth_hash().encode()).hexdigest()


def _name(other: ConsoleSession, reader: ConsoleSession) -> str:
    """Return the name of a session's user for a reader. Customers do not see the names of staff."""
    return SOMEBODY if other.staff and not reader.staff else _username(other)


def _own_name(session: ConsoleSession) -> str:
    return SOMEBODY if session.staff else _username(session)


def _username(session: ConsoleSession) -> str:
    """Return the user's present name, or the recorded name if the user was deleted."""
    return session.user.username if session.user else session.username
