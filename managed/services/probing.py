"""The prober's queue and its outcomes: due services, their leases, and the effect of a check on a service's status.

A check is claimed by one conditional UPDATE, which takes a lease and advances the fence. Its outcome is settled
under that fence. If two processes check the same service, because the first was slow or died, only one outcome
counts. See docs/managed.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.models import Account
from accounts.services.events import record_event
from config.db import leases
from managed.models import Measurement, Service
from managed.services.contacts import ACTION
from managed.services.incidents import join, recover
from managed.services.refs import service_ref

MIN_FAILURES = 2
"""The number of failed checks in a row that make a problem."""
MARGIN_SECONDS = 30
"""Seconds of a lease beyond the timeout of the check, in which its outcome is written."""
MAX_INTERVALS = 2
"""The maximum number of intervals until a next check.

A later time was set under a longer interval, or by a wrong clock.
"""
MAX_TIMEOUT = 255
"""The maximum number of seconds of a service's timeout."""
MAX_ERROR_LENGTH = 500
LOCK_TIMEOUT = "5s"
"""The lock timeout for an account or a service that another transaction has locked. Other outcomes wait as well."""
GOLDEN_RATIO = 0.6180339887498949
"""The golden ratio: any number of its multiples, modulo 1, are spread over the unit interval."""
TASK_NAME = "managed.probe"


@dataclass(frozen=True, slots=True)
class Probe:
    """A claimed check: the columns of its service. `private` is whether the service has a region."""

    service_id: int
    account_id: int
    fence: int
    claimed: datetime
    service_type: str
    address: str
    body: str
    timeout: int
    private: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a check. `error` is a sentence for people, empty if the service is up."""

    milliseconds: float | None = None
    error: str = ""

    @property
    def up(self) -> bool:
        return not self.error


_WAITS = f"""d.status <> 'disabled' AND {leases.due("d.next_check_at", "%(late)s")}
       AND {leases.unleased("d.lease_until")}"""
_QUEUE = f"""
WITH busy AS (
    SELECT account_id, count(*) AS checks FROM managed_service WHERE {leases.leased()} GROUP BY account_id),
queue AS MATERIALIZED (
    SELECT d.id, COALESCE(busy.checks, 0)
           + row_number() OVER (PARTITION BY d.account_id ORDER BY d.next_check_at, d.id) AS place
      FROM managed_service d
      JOIN accounts_account a ON a.id = d.account_id AND a.is_active AND a.managed
      LEFT JOIN busy ON busy.account_id = d.account_id
     WHERE {_WAITS})
SELECT d.id FROM managed_service d JOIN queue ON queue.id = d.id AND queue.place <= %(share)s
 WHERE {_WAITS}
 ORDER BY d.next_check_at LIMIT %(most)s FOR NO KEY UPDATE OF d SKIP LOCKED
"""  # noqa: S608 - of constants
_CLAIM = f"""
UPDATE managed_service SET {leases.taken("timeout + %(margin)s")} WHERE {leases.chosen("id", _QUEUE)}
RETURNING id, account_id, fence, statement_timestamp(), service_type, address, COALESCE(body, ''),
          timeout, region_id IS NOT NULL
"""  # noqa: S608 - of constants


def claim(most: int) -> list[Probe]:
    """Claim up to `most` due services, the longest waiting first.

    Services whose next check is further ahead than `MAX_INTERVALS` allows come last. No account has more than
    PROBE_SHARE checks in progress, or a batch or two more if several processes claim at once. Otherwise an account
    with thousands of hanging services would leave no capacity for others.
    """
    values = {
        "most": most, "margin": MARGIN_SECONDS, "share": settings.PROBE_SHARE,
        "late": MAX_INTERVALS * settings.PROBE_EVERY, "horizon": leases.horizon_of(MAX_TIMEOUT + MARGIN_SECONDS),
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, values)
        return [Probe(*row) for row in cursor.fetchall()]


_RELEASE = f"""
UPDATE managed_service s SET {leases.GIVEN_BACK}
  FROM unnest(%(ids)s::bigint[], %(fences)s::bigint[]) AS mine (id, fence)
 WHERE s.id = mine.id AND s.fence = mine.fence
"""  # noqa: S608 - of constants


def release(probes: Iterable[Probe]) -> None:
    """End the leases of claimed checks that will not be made: their services are due at once, for any process."""
    mine = list(probes)
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE, {"ids": [p.service_id for p in mine], "fences": [p.fence for p in mine]})


_SUPERSEDED = """
SELECT mine.place FROM unnest(%(ids)s::bigint[], %(fences)s::bigint[]) WITH ORDINALITY AS mine (id, fence, place)
  LEFT JOIN managed_service s ON s.id = mine.id AND s.fence = mine.fence
 WHERE s.id IS NULL
"""


def superseded(probes: Iterable[Probe]) -> list[Probe]:
    """Return the checks among `probes` whose outcome does not count any more, with one query.

    Their service was changed, disabled, deleted, or claimed by another process.
    """
    mine = list(probes)
    if not mine:
        return []
    with connection.cursor() as cursor:
        values = {"ids": [p.service_id for p in mine], "fences": [p.fence for p in mine]}
        cursor.execute(_SUPERSEDED, values)
        return [mine[place - 1] for (place,) in cursor.fetchall()]


@transaction.atomic
def settle(probe: Probe, outcome: Outcome) -> bool:
    """Write a check's outcome: the measurement, the service's status, its issue and its events, all or nothing.

    Returns False if the outcome does not count any more. The service is gone, was changed, or was claimed by
    another process, the account is suspended, or the outcome is already written. Times are the database's. Raises
    `OperationalError` if another transaction keeps the account locked.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    account = Account.objects.select_for_update(no_key=True).filter(pk=probe.account_id).first()
    if account is None or not (account.is_active and account.managed):
        return False
    claimed = Service.objects.filter(pk=probe.service_id, fence=probe.fence, lease_until__isnull=False)
    locked = claimed.select_for_update(no_key=True).annotate(clock=Now()).first()
    if locked is None:
        return False
    at = locked.clock
    _measure(locked, outcome, at)
    before = locked.status
    locked.failures = 0 if outcome.up else min(locked.failures + 1, 32767)
    locked.error = outcome.error[:MAX_ERROR_LENGTH]
    locked.checked_at, locked.lease_until = at, None
    locked.next_check_at = next_slot(locked.pk, probe.claimed, at)
    # These columns only: `updated` is when the account last changed the service.
    locked.save(update_fields=["failures", "error", "checked_at", "lease_until", "next_check_at"])
    if outcome.up and before != Service.Status.OK:
        _mark_up(locked)
    elif not outcome.up and before != Service.Status.PROBLEM and locked.failures >= MIN_FAILURES:
        join(locked)
    return True


def next_slot(service_id: int, claimed: datetime, at: datetime) -> datetime:
    """Return the time of the next check of a service that was claimed at `claimed` and settled at `at`.

    Each service has its own slot in each interval, so that all are spread over it. The next check comes at least
    half an interval after the claim, since a first check waits for no slot. It is never in the past: a service
    whose check takes longer than an interval keeps its slot too.
    """
    interval = settings.PROBE_EVERY
    own = service_id * GOLDEN_RATIO % 1 * interval
    earliest = max(claimed.timestamp() + interval / 2, at.timestamp())
    slot = (earliest - own) // interval * interval + own
    return datetime.fromtimestamp(slot if slot >= earliest else slot + interval, UTC)


def _mark_up(service: Service) -> None:
    """Mark a service as up that was not up before, or not checked yet."""
    if service.status == Service.Status.PROBLEM:
        recover(service)
    service.status = Service.Status.OK
    service.save(update_fields=["status"])
    record_event(
        Actor.platform(service.account_id), ACTION, service_ref(service), message=f"{service.label} is up."
    )


def _measure(service: Service, outcome: Outcome, at: datetime) -> None:
    Measurement.objects.create(
        service=service, at=at, failed=0 if outcome.up else 1, milliseconds=outcome.milliseconds
    )


_THIN = """
WITH kept AS MATERIALIZED (SELECT id FROM managed_service FOR KEY SHARE SKIP LOCKED)
INSERT INTO managed_measurement (service_id, span, at, checks, failed, milliseconds)
SELECT m.service_id, %(hour)s, date_trunc('hour', m.at, 'UTC'), sum(m.checks), sum(m.failed), avg(m.milliseconds)
  FROM kept s
 CROSS JOIN LATERAL (
    SELECT max(at) AS at FROM managed_measurement WHERE service_id = s.id AND span = %(hour)s) last
  JOIN managed_measurement m ON m.service_id = s.id AND m.span = 0 AND m.at < %(until)s
       AND m.at >= COALESCE(last.at + interval '1 hour', '-infinity')
 GROUP BY m.service_id, 3
ON CONFLICT (service_id, span, at) DO NOTHING
"""


def thin(at: datetime | None = None) -> None:
    """Average the checks of each hour that is over at `at`, and delete measurements past their retention.

    `at` is now, by the database's clock, unless given. The function may run any number of times. An hour with an
    average keeps it, and each service continues where its averages end, however long ago that is. A service that is
    being deleted is skipped. A later deletion waits for the averages, which refer to the service.
    """
    at = at or _clock()
    hour = (at - timedelta(minutes=5)).astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    with connection.cursor() as cursor:
        cursor.execute(_THIN, {"hour": int(Measurement.Span.HOUR), "until": hour})
    for span, kept in (
        (Measurement.Span.CHECK, settings.MEASUREMENTS_KEPT),
        (Measurement.Span.HOUR, settings.HOURLY_MEASUREMENTS_KEPT),
    ):
        Measurement.objects.filter(span=span, at__lt=hour - kept).delete()


def _clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        return cursor.fetchone()[0]
