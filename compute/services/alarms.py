"""Alarms: the operator is notified of failures, by mail and webhook, and again when a failure is over.

Web and stream processes check every `CHECK_SECONDS`, and workers check when the clock tells them. So any process
that is left reports the others. If the database is down, or all processes are, nobody reports it: an external
monitor must poll ``/readyz``. Mails are sent from here and not by the outbox, which needs the workers that may be
missing.
"""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import requests
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import connection, transaction
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Now

from accounts.services.retention import delete_in_batches
from compute.models import Alarm
from compute.services.hosts.unreachable_hosts import jobs_waiting, unreachable_hosts
from compute.services.missing_processes import missing, moment_of, starting
from config.db.advisory import advisory_lock

log = logging.getLogger(__name__)

CHECK_SECONDS = 15.0
"""Seconds between two checks of a process."""
ALARM_DELAY = timedelta(minutes=1)
"""The time for which a failure must last before the operator is notified, so that restarts are not reported."""
ALARM_RETENTION = timedelta(days=90)
MAX_LISTED_ALARMS = 20
"""The most alarms that one message lists; the rest is counted."""
WEBHOOK_SECONDS = 10
ADVISORY_LOCK = 0x616C61726D
"""The key of the advisory lock. Nothing else in the database uses this number."""


def check_alarms() -> None:
    """Record the present failures, and notify the operator of new ones and of those that are over.

    Does nothing if no operator is configured, or while another process checks. A process that has just started does
    nothing either. It cannot know yet which processes are missing, and would end alarms that are not over.
    """
    if not (settings.OPERATOR_EMAILS or settings.OPERATOR_WEBHOOK) or starting():
        return
    with advisory_lock(connection, ADVISORY_LOCK) as take:
        if take():
            _record(_wrong())
            _tell()


def _wrong() -> dict[str, str]:
    """Return the present failures by subject. Hosts in maintenance are left out, because they are expected to be
    silent."""
    found = {each.component: each.text for each in missing()}
    for host in unreachable_hosts().filter(maintenance=None):
        since = moment_of(host.unreachable_since) if host.unreachable_since else "a moment ago"
        text = f"Host {host} has not answered since {since}: {jobs_waiting(host.waiting)}"
        found[f"host {host}"] = text
    return found


@transaction.atomic
def _record(found: dict[str, str]) -> None:
    known = {alarm.subject: alarm for alarm in Alarm.objects.filter(ended=None)}
    for subject, text in found.items():
        alarm = known.pop(subject, None)
        if alarm is None:
            Alarm.objects.create(subject=subject, text=text)
        elif alarm.text != text:
            Alarm.objects.filter(pk=alarm.pk).update(text=text)
    Alarm.objects.filter(pk__in=[alarm.pk for alarm in known.values()]).update(ended=Now())


def _tell() -> None:
    begun = list(_unnotified())
    over = list(Alarm.objects.filter(ended__isnull=False, notified__isnull=False, end_notified=None).order_by("pk"))
    if not (begun or over):
        return
    problems = _send(begun, over)
    changed = Alarm.objects.filter(pk__in=[alarm.pk for alarm in (*begun, *over)])
    if len(problems) == len(_ways()):
        log.error("the operator cannot be notified of %s: %s", _subject(begun, over), "; ".join(problems))
        changed.update(error="; ".join(problems))
        return
    Alarm.objects.filter(pk__in=[alarm.pk for alarm in begun]).update(notified=Now())
    Alarm.objects.filter(pk__in=[alarm.pk for alarm in over]).update(end_notified=Now())
    changed.update(error="; ".join(problems))


def _unnotified() -> QuerySet[Alarm]:
    """Return the alarms that have lasted long enough, and that the operator does not know of."""
    return Alarm.objects.filter(
        Q(began__lt=Now() - Value(ALARM_DELAY)), ended=None, notified=None
    ).order_by("pk")  # fmt: skip


def _ways() -> list[str]:
    return [*(["mail"] if settings.OPERATOR_EMAILS else []), *(["webhook"] if settings.OPERATOR_WEBHOOK else [])]


def _send(begun: list[Alarm], over: list[Alarm]) -> list[str]:
    """Notify the operator by each configured channel. Return the reason for each channel that failed."""
    problems = []
    for way in _ways():
        try:
            (_mail if way == "mail" else _post)(begun, over)
        except (OSError, requests.RequestException) as error:  # those of SMTP are errors of the system as well
            problems.append(f"{way}: {_reason(error)}")
    return problems


class NotTaken(requests.RequestException):
    """The webhook answered with a status other than 2xx."""


def _reason(error: Exception) -> str:
    """Return the reason why a channel failed, without its address: a webhook's address is as secret as a password.

    The texts of HTTP errors contain the address. The text of the system's error behind them does not.
    """
    if not isinstance(error, requests.RequestException) or isinstance(error, NotTaken):
        return f"{type(error).__name__}: {error}"
    for behind in _behind(error):
        if isinstance(behind, OSError) and behind.strerror and not isinstance(behind, requests.RequestException):
            return f"{type(error).__name__}: {behind.strerror}"
    return type(error).__name__


def _behind(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors that caused this one, the last first."""
    while error.__context__ is not None:
        error = error.__context__
        yield error


def _subject(begun: list[Alarm], over: list[Alarm]) -> str:
    found = begun or over
    if len(found) > 1:
        return f"{len(found)} things {'do not work' if begun else 'work again'}"
    return found[0].text if begun else f"Over: {found[0].text}"


def _lines(alarms: Iterable[Alarm], ended: bool) -> list[str]:
    found = [
        f"{alarm.text} [{_span(alarm.began, alarm.ended)}]" if ended else alarm.text
        for alarm in alarms
    ]  # fmt: skip
    return [
        *found[:MAX_LISTED_ALARMS],
        *([f"and {len(found) - MAX_LISTED_ALARMS} more"] if len(found) > MAX_LISTED_ALARMS else []),
    ]


def _span(began: datetime, ended: datetime | None) -> str:
    return f"{moment_of(began)} to {moment_of(ended) if ended else 'now'}"


def _mail(begun: list[Alarm], over: list[Alarm]) -> None:
    parts = []
    if begun:
        parts += ["Wrong now:", *(f"- {line}" for line in _lines(begun, ended=False)), ""]
    if over:
        parts += ["Over:", *(f"- {line}" for line in _lines(over, ended=True)), ""]
    parts.append(f"{settings.SITE_URL}/admin/")
    subject = " ".join(f"[Skerry] {_subject(begun, over)}".split())
    EmailMessage(subject, "\n".join(parts) + "\n", to=settings.OPERATOR_EMAILS).send()


def _post(begun: list[Alarm], over: list[Alarm]) -> None:
    text = "\n".join([*_lines(begun, ended=False), *(f"Over: {line}" for line in _lines(over, ended=True))])
    body = {
        "text": text,
        "site": settings.SITE_URL,
        "problems": [
            {"subject": each.subject, "text": each.text, "since": each.began.isoformat()} for each in begun
        ],
        "over": [each.subject for each in over],
    }
    # the body is not read: nobody needs it, and it might never end
    with requests.post(
        settings.OPERATOR_WEBHOOK, json=body, timeout=WEBHOOK_SECONDS, allow_redirects=False, stream=True
    ) as answer:
        if answer.status_code not in range(200, 300):
            raise NotTaken(f"it answers {answer.status_code}")


def delete_old() -> int:
    """Delete alarms that ended long ago, and return how many."""
    return delete_in_batches(Alarm.objects.filter(ended__lt=Now() - Value(ALARM_RETENTION)).order_by(F("pk")))
