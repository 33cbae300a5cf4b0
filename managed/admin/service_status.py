"""The status of a service by the database's clock: the results of checks, and the work that needs a person."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypedDict

from django.conf import settings
from django.db.models import Q, Value
from django.db.models.functions import Now
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.models import Ticket
from config.admin.value_formats import lines, moment_ago, span
from config.display.plurals import counted
from config.display.statuses import BAD, QUIET, pill, status_pill
from managed.models import Service
from managed.services.probing import MIN_FAILURES

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

Status = Service.Status
LATE_INTERVALS = 3
"""The number of intervals after which a service without a check counts as late."""


def watched() -> Q:
    """Return the condition for services that the prober checks."""
    return ~Q(status=Status.DISABLED) & Q(account__is_active=True, account__managed=True)


def late() -> Q:
    """Return the condition for services that have been due for long, unclaimed: no worker runs, or too few do."""
    since = Now() - Value(patience())
    return watched() & Q(next_check_at__lt=since) & (Q(lease_until=None) | Q(lease_until__lt=since))


def patience() -> timedelta:
    """Return the time that a service may wait for a check before it counts as late."""
    return LATE_INTERVALS * timedelta(seconds=settings.PROBE_EVERY)


def being_checked() -> Q:
    """Return the condition for services with a check in progress."""
    return Q(lease_until__gte=Now())


def shaky() -> Q:
    """Return the condition for services that failed, but not often enough to be a problem."""
    return watched() & Q(failures__gt=0) & ~Q(status=Status.PROBLEM)


class Clocked(TypedDict):
    clock: datetime


class StatusDisplay:
    """One service, with its account and the database's `clock`, in words."""

    def __init__(self, service: "WithAnnotations[Service, Clocked]"):
        self.service = service
        self.at = service.clock

    @property
    def watched(self) -> bool:
        account = self.service.account
        return self.service.status != Status.DISABLED and account.is_active and account.managed

    @property
    def is_being_checked(self) -> bool:
        return self.service.lease_until is not None and self.service.lease_until >= self.at

    @property
    def late(self) -> bool:
        """Whether this service is `late`."""
        since = max(filter(None, (self.service.next_check_at, self.service.lease_until)))
        return self.watched and self.at - since > patience()

    def state(self) -> SafeString:
        pills = [status_pill(self.service.status)]
        if self.late:
            pills.append(pill("late", BAD))
        elif not self.watched and self.service.status != Status.DISABLED:
            pills.append(pill("not watched", QUIET))
        return format_html_join(" ", "{}", ((each,) for each in pills))

    def needs(self) -> SafeString:
        """The work that a person must do about the service, the most urgent first."""
        return lines(self._needs())

    def _needs(self) -> Iterator[str | SafeString]:
        service = self.service
        if service.status == Status.PROBLEM:
            yield format_html(
                '<strong class="problem">The service is down: {}.</strong>',
                service.error or "no error was reported",
            )
            if service.issue is not None and service.issue.ticket.status == Ticket.Status.CLOSED:
                yield (
                    "Its ticket is closed, but the service is still down. Nobody is notified again until the"
                    " service has been up."
                )
        if self.late:
            yield format_html(
                '<strong class="problem">No check for {}. Check that a worker runs.</strong>',
                span(self.at - service.next_check_at),
            )
        if service.status != Status.DISABLED and not self.watched:
            why = (
                "managed monitoring is off for its account"
                if service.account.is_active
                else "its account is suspended"
            )
            yield f"The service is not watched: {why}."
        if service.status == Status.DISABLED:
            yield "Nothing: the service is disabled."
        elif service.status == Status.PENDING and not service.failures:
            yield "Nothing: the service waits for its first check."
        elif service.failures and service.status != Status.PROBLEM:
            left = counted(MIN_FAILURES - service.failures, "more failure")
            yield f"The last check failed: {service.error}. The service is down after {left}."
        elif service.status == Status.OK and not self.late:
            yield "Nothing: the service is up."

    def next_check(self) -> SafeString | str:
        if not self.watched:
            return "none"
        if self.is_being_checked:
            return "in progress"
        if self.service.next_check_at <= self.at:
            return f"due since {span(self.at - self.service.next_check_at)}"
        return moment_ago(self.service.next_check_at)
