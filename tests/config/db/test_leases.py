"""The rules of `config.db.leases`, checked on every table whose rows are work.

The tables are jobs, hosts with pending firewalls, checks of managed services, messages, and pictures of OAuth
clients.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Model
from django.db.models.functions import Now
from psycopg import pq

from accounts.models import Account, Message, Picture
from accounts.services import outbox, thumbnails
from compute.jobs import claims, store, sweeps
from compute.models import Job, PacketFilter
from compute.services.networking.firewalls import delivery
from config.db.connections import THRESHOLD
from config.db.leases import horizon_of
from config.encryption import encrypt_json
from managed.models import Service
from managed.services import probing
from tests.factories import AccountFactory, InstanceFactory, OAuthClientFactory, ServiceFactory

pytestmark = pytest.mark.django_db

YEAR = timedelta(days=365)
PLANS = ["", "hashjoin, mergejoin, hashagg", "hashjoin, mergejoin, hashagg, material, indexscan, bitmapscan, sort"]
"""Plan types that are disabled. With the last set, an inner query runs once for each row of the outer one."""


@dataclass(frozen=True)
class Queue:
    """A table whose rows are work.

    `add` inserts a row that is due. `take` claims at most so many rows. Each of the `outcomes` writes the
    result of a claimed row. `due` is the column with the time at which a row is due. `times` are all columns
    that a worker may wait for. `at_once` is the most rows that are leased at the same time, if there is a limit.
    """

    model: type[Model]
    add: Callable[[], object]
    take: Callable[[int], list[Any]]
    outcomes: Mapping[str, Callable[[Any], object]]
    due: str = "run_at"
    times: tuple[str, ...] = ("run_at", "lease_until")
    at_once: int | None = None

    def up_to(self, number: int) -> int:
        """Return how many of `number` due rows can be claimed."""
        return number if self.at_once is None else min(number, self.at_once)

    def update(self, **columns) -> None:
        self.model._default_manager.update(**columns)

    def rows(self) -> list[dict[str, Any]]:
        return list(self.model._default_manager.order_by("pk").values())

    def lose_leases(self) -> None:
        """Expire all leases."""
        self.update(**dict.fromkeys(("lease_until", self.due), Now()))

    def settle(self, claim: Any) -> None:
        self.outcomes["settle"](claim)

    def postpone(self, claim: Any) -> None:
        self.outcomes["postpone"](claim)


def _key(claim: Any) -> int:
    """Return the key of the claimed row."""
    for name in ("instance_id", "service_id"):
        if not isinstance(claim, Model) and hasattr(claim, name):
            return getattr(claim, name)
    return claim.pk


def _account() -> Account:
    return Account.objects.filter(managed=True).first() or AccountFactory(managed=True)


_hosts = count(1)
"""Hosts of jobs, so that no host's share of the workers' slots limits the number of claims."""


def _claim_jobs(most: int) -> list[Job]:
    sweeps.make_ready()
    return [job for _ in range(most) if (job := claims.claim_next())]


JOBS = Queue(
    Job,
    lambda: Job.objects.create(kind="boot", step="start", share_host=next(_hosts), deadline_at=Now() + YEAR),
    _claim_jobs,
    {
        "settle": lambda job: store.finish(job, state="done", message="", error="", status=None, during=None),
        "advance": lambda job: store.advance(job, "next", "active"),
        "postpone": lambda job: store.postpone(job, YEAR.total_seconds(), failed=True),
    },
    times=("run_at", "lease_until", "notified_at"),
)
FIREWALLS = Queue(
    PacketFilter,
    lambda: PacketFilter.objects.create(instance=InstanceFactory()),
    lambda most: [claim for key in delivery.due(most) if (claim := delivery.claim(key))],
    {
        "settle": lambda claim: delivery.settle(claim, 1),
        "postpone": lambda claim: delivery.postpone(claim, "The host does not answer."),
    },
    times=("run_at", "lease_until", "notified_at"),
)
CHECKS = Queue(
    Service,
    lambda: ServiceFactory(account=_account()),
    probing.claim,
    {
        "settle": lambda probe: probing.settle(probe, probing.Outcome(milliseconds=1.0)),
        "postpone": lambda probe: probing.settle(probe, probing.Outcome(error="it answered 503")),
        "release": lambda probe: probing.release([probe]),
    },
    due="next_check_at",
    times=("next_check_at", "lease_until"),
)
MESSAGES = Queue(
    Message,
    lambda: Message.objects.create(channel="sms", recipient="+4740612345", encrypted=encrypt_json({"text": "Hi"})),
    lambda most: [message for _ in range(most) if (message := outbox.claim())],
    {
        "settle": outbox.settle,
        "postpone": lambda message: outbox.postpone(message, "ConnectionError"),
    },
)
PICTURES = Queue(
    Picture,
    lambda: Picture.objects.create(client=OAuthClientFactory(), content=b"drawn"),
    lambda most: [picture for _ in range(most) if (picture := thumbnails.claim())],
    {"settle": lambda picture: thumbnails.settle(picture, b"drawn")},
    at_once=1,
)
QUEUES = {"jobs": JOBS, "firewalls": FIREWALLS, "checks": CHECKS, "messages": MESSAGES, "pictures": PICTURES}


@pytest.fixture(params=QUEUES.values(), ids=QUEUES.keys())
def queue(request, settings) -> Queue:
    settings.JOB_NOTIFY_PATIENCE = 0  # no wait for workers that were notified and do not come
    return request.param


def each(name: str, choices: Callable[[Queue], object]) -> pytest.MarkDecorator:
    """Run a test for each of the choices of each queue."""
    found = [(queue, choice, f"{title}-{choice}") for title, queue in QUEUES.items() for choice in choices(queue)]
    values = [pytest.param(queue, choice, id=title) for queue, choice, title in found]
    return pytest.mark.parametrize(("queue", name), values, indirect=["queue"])


def those(which: Callable[[Queue], bool]) -> pytest.MarkDecorator:
    """Run a test for some of the queues."""
    found = {title: queue for title, queue in QUEUES.items() if which(queue)}
    return pytest.mark.parametrize("queue", found.values(), ids=found.keys(), indirect=True)


def test_claims_and_outcomes_work_during_a_migration_that_adds_a_column(queue):
    """PostgreSQL refuses a prepared statement whose result has changed, and ``*`` changes with each column."""
    for outcome in queue.outcomes.values():
        for _ in range(THRESHOLD + 2):
            queue.add()
            [claim] = queue.take(1)
            outcome(claim)
            queue.model._default_manager.all().delete()
    # bypasses psycopg's record, which would prepare all statements anew: the migration runs in another process
    table = connection.ops.quote_name(queue.model._meta.db_table)
    change = f"SET CONSTRAINTS ALL IMMEDIATE; ALTER TABLE {table} ADD later integer"
    result = connection.connection.pgconn.exec_(change.encode())
    assert result.status == pq.ExecStatus.COMMAND_OK, result.get_error_message()
    for outcome in queue.outcomes.values():
        queue.add()
        [claim] = queue.take(1)
        outcome(claim)
        queue.model._default_manager.all().delete()


# --- who has it -------------------------------------------------------------------------------------------------


def test_a_claimed_row_is_not_claimed_again(queue):
    queue.add()
    [claim] = queue.take(10)
    assert queue.take(10) == []
    [row] = queue.rows()
    assert (row["fence"], claim.fence, row.get("attempt", 1)) == (1, 1, 1)


def test_the_row_of_a_killed_worker_is_claimed_after_its_lease(queue):
    queue.add()
    [killed] = queue.take(10)
    queue.lose_leases()
    [claim] = queue.take(10)
    assert (_key(claim), claim.fence) == (_key(killed), killed.fence + 1)


@each("outcome", lambda queue: queue.outcomes)
def test_after_another_claim_the_first_worker_writes_nothing(queue, outcome):
    queue.add()
    [slow] = queue.take(1)
    queue.lose_leases()
    [holder] = queue.take(1)
    before = queue.rows()

    queue.outcomes[outcome](slow)
    assert queue.rows() == before
    queue.outcomes[outcome](holder)
    assert queue.rows() != before


def test_after_its_lease_a_worker_may_write_if_nobody_claimed(queue):
    queue.add()
    [slow] = queue.take(1)
    queue.lose_leases()
    queue.settle(slow)
    assert queue.take(1) == []


# --- when -------------------------------------------------------------------------------------------------------


@each("column", lambda queue: queue.times)
def test_no_row_waits_for_a_clock_that_was_set_back(queue, column):
    """The row was written while the clock was a year ahead."""
    queue.add()
    queue.update(**{column: Now() + YEAR})
    assert len(queue.take(1)) == 1


@each("column", lambda queue: (queue.due, "lease_until"))
def test_a_row_waits_for_a_time_that_may_have_been_written_just_now(queue, column):
    queue.add()
    queue.update(**{column: Now() + timedelta(minutes=1)})
    assert queue.take(1) == []


@those(lambda queue: "postpone" in queue.outcomes)
def test_the_wait_of_many_postponements_stays_below_the_clock_limit(queue, settings):
    """No wait is as long as the limit that shows that the clock was set back."""
    settings.JOB_BACKOFF, settings.MESSAGE_ATTEMPTS = 1, 100
    queue.add()
    if queue is not CHECKS:
        queue.update(attempt=40)
    [claim] = queue.take(1)
    queue.postpone(claim)
    assert queue.take(1) == []
    [row] = queue.rows()
    assert row["lease_until"] is None
    queue.update(**{queue.due: Now()})
    assert len(queue.take(1)) == 1


@pytest.mark.parametrize("queue", [FIREWALLS], ids=["firewalls"], indirect=True)
def test_an_old_notification_does_not_delay_the_row(queue, settings):
    settings.JOB_NOTIFY_PATIENCE = 600
    queue.add()
    queue.update(notified_at=Now() - timedelta(minutes=9))
    assert queue.take(1) == []
    queue.update(notified_at=Now() - timedelta(minutes=11))
    assert len(queue.take(1)) == 1


def test_a_horizon_is_beyond_the_longest_wait_and_beyond_those_of_other_settings():
    assert horizon_of(90, 3600) == 7200
    assert horizon_of(90) == 7200
    assert horizon_of(90, 5000.0) == 10_000


# --- how many ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("avoided", PLANS)
def test_no_more_is_claimed_than_the_limit_however_the_rows_are_found(queue, avoided):
    for _ in range(7):
        queue.add()
    untouched = queue.rows()
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {queue.model._meta.db_table}")
        for plan in filter(None, avoided.split(", ")):
            cursor.execute(f"SET LOCAL enable_{plan} = off")
    assert len(queue.take(2)) == queue.up_to(2)
    assert sum(row not in untouched for row in queue.rows()) == queue.up_to(2)


@pytest.mark.django_db(transaction=True)
def test_a_simultaneous_claim_does_not_wait_and_gets_other_rows(queue):
    """The first claim is not committed when the second one runs."""
    for _ in range(5):
        queue.add()
    found: list[int] = []

    def second() -> None:
        try:
            found.extend(_key(claim) for claim in queue.take(10))
        finally:
            connection.close()

    with transaction.atomic():
        first = {_key(claim) for claim in queue.take(2)}
        thread = threading.Thread(target=second, daemon=True)
        thread.start()
        thread.join(120)
        assert not thread.is_alive(), "it waits for the first"

    assert len(first) == queue.up_to(2)
    assert len(found) == queue.up_to(3)
    assert first.isdisjoint(found)


@those(lambda queue: queue.at_once is None)
@pytest.mark.django_db(transaction=True)
def test_simultaneous_claims_share_the_due_rows(queue):
    rows = 60
    for _ in range(rows):
        queue.add()
    gate = threading.Barrier(6)

    def claimer(number: int) -> list[int]:
        mine: list[int] = []
        try:
            gate.wait(120)
            while claims := queue.take(4):
                mine += [_key(claim) for claim in claims]
        finally:
            connection.close()
        return mine

    with ThreadPoolExecutor(6) as pool:
        found = [key for mine in pool.map(claimer, range(6)) for key in mine]
    assert len(found) == len(set(found)) == rows
