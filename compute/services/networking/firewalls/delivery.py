"""Delivering packet filters to hosts: the number of an instance's filter that is wanted, and the number that is
applied.

A change of firewalls raises the wanted number of an instance's filter in its own transaction. A worker then sends
the host the present rules with the present number, so that after any number of changes the host has the latest
rules.

Two workers may send to the same host, because one was slow or was considered dead. This does no harm. The host
keeps the rules with the higher number, and only the holder of the lease writes the outcome. See docs/firewalls.md.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import OuterRef, Subquery

from compute.models import FirewallDevice, Instance, PacketFilter
from config.db import leases
from config.db.statements import Param, Statement
from config.processes.notify import notify

TASK_NAME = "compute.worker.apply_firewall"
MAX_NOTIFIED_PER_REQUEST = 100
"""The most notifications that a request sends; the sweep sends the others within a second."""
MAX_WAIT = 60
MAX_ERROR_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Claim:
    """The lease to deliver an instance's filter, until it expires or another claim is given."""

    instance_id: int
    fence: int
    attempt: int
    given: datetime


@dataclass(frozen=True, slots=True)
class Wanted:
    """The packet filter that a host should have: its number, and its rules."""

    version: int
    rules: Mapping[str, Any] | None
    """The rules of the enabled firewall, as the API has them; None without one."""
    mail_ports_closed: bool


_CHANGED = """
INSERT INTO compute_packetfilter AS f (instance_id, wanted, mail_ports_closed)
SELECT id, 1, COALESCE(%(closed)s::boolean, FALSE) FROM unnest(%(ids)s::bigint[]) AS id ORDER BY id
ON CONFLICT (instance_id) DO UPDATE
   SET wanted = f.wanted + 1, mail_ports_closed = COALESCE(%(closed)s::boolean, f.mail_ports_closed),
       run_at = statement_timestamp(), notified_at = NULL, attempt = 0,
       changed = CASE WHEN f.applied < f.wanted THEN f.changed ELSE statement_timestamp() END
"""

# A host that is recorded as not answering is not called. Its filters stay due, and go out when it answers.
_ANSWERS = """NOT EXISTS (
    SELECT FROM compute_instance JOIN compute_host ON compute_host.id = compute_instance.host_id
     WHERE compute_instance.id = compute_packetfilter.instance_id AND compute_host.unreachable_since IS NOT NULL)"""

_CLAIM = f"""
UPDATE compute_packetfilter SET {leases.taken()}, attempt = attempt + 1
 WHERE instance_id = %(id)s AND applied < wanted AND {leases.FREE} AND {_ANSWERS}
RETURNING instance_id, fence, attempt, statement_timestamp()
"""  # noqa: S608 - of constants

# If the host has a higher number than was ever given here, our tables were restored from a backup and are older
# than the host's rules. The present rules then get a number beyond the host's, and replace the host's rules.
_SETTLE = f"""
UPDATE compute_packetfilter
   SET applied = CASE WHEN %(applied)s > wanted THEN applied ELSE GREATEST(applied, %(applied)s) END,
       wanted = CASE WHEN %(applied)s > wanted THEN %(applied)s + 1 ELSE wanted END,
       confirmed = statement_timestamp(), {leases.GIVEN_BACK}, attempt = 0, error = '',
       changed = CASE WHEN %(applied)s = wanted THEN changed ELSE statement_timestamp() END
 WHERE instance_id = %(id)s AND {leases.MINE}
RETURNING applied < wanted
"""  # noqa: S608 - of constants

# A change meanwhile has set `attempt` to 0: the older rules failed, and the new ones need not wait.
_POSTPONE = f"""
UPDATE compute_packetfilter
   SET {leases.GIVEN_BACK}, error = %(error)s, notified_at = NULL,
       run_at = CASE WHEN attempt = 0 THEN run_at ELSE {leases.after("%(delay)s")} END
 WHERE instance_id = %(id)s AND {leases.MINE}
"""  # noqa: S608 - of constants

_TO_NOTIFY = f"""
SELECT instance_id FROM compute_packetfilter
 WHERE applied < wanted AND {leases.FREE} AND {leases.NOT_NOTIFIED_LATELY} AND {_ANSWERS}
 ORDER BY run_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
"""  # noqa: S608 - of constants
_DUE = f"""
UPDATE compute_packetfilter SET notified_at = statement_timestamp() WHERE {leases.chosen("instance_id", _TO_NOTIFY)}
RETURNING instance_id
"""  # noqa: S608 - of constants


def first_filters(instance: Instance, *, mail_ports_closed: bool, filtered: bool = False) -> list[PacketFilter]:
    """Return the packet filter, to be inserted, of an instance that is being created; none if nothing is filtered.

    `filtered` tells whether the instance gets an enabled firewall. No delivery is needed, because the first boot
    brings the filter to the host.
    """
    if not (mail_ports_closed or filtered):
        return []
    return [PacketFilter(instance=instance, wanted=1, applied=1, mail_ports_closed=mail_ports_closed)]


def changed(instance_ids: Iterable[int], mail_ports_closed: bool | None = None) -> None:
    """Record in a change's transaction that these instances have another filter; notify workers after the commit.

    `mail_ports_closed` None leaves the mail ports as they are. The caller has locked the instances, so that none is
    deleted meanwhile and all changes lock them in one order. Raises `RuntimeError` outside a transaction.
    """
    ids = sorted(instance_ids)
    if not ids:
        return
    if not connection.in_atomic_block:
        raise RuntimeError("a packet filter must change in the transaction of the change that causes it")
    with connection.cursor() as cursor:
        cursor.execute(_CHANGED, {"ids": ids, "closed": mail_ports_closed})
    transaction.on_commit(partial(notify_all, ids[:MAX_NOTIFIED_PER_REQUEST]), robust=True)


def notify_all(instance_ids: Iterable[int]) -> None:
    for instance_id in instance_ids:
        notify(TASK_NAME, instance_id)


def claim(instance_id: int) -> Claim | None:
    """Take the lease of a filter that is due.

    None if the host has it already or does not answer, or if another worker has the lease.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {"id": instance_id, "lease": settings.JOB_LEASE, "horizon": _horizon()})
        row = cursor.fetchone()
    return None if row is None else Claim(*row)


def read(instance_id: int | None) -> Wanted | None:
    """Return the wanted packet filter of an instance; None if it never had anything to filter.

    One statement reads rules and number together, so that they fit each other, whatever is committed meanwhile.
    """
    for version, rules, mail_ports_closed in _read_statement().run({"instance": instance_id}):
        return Wanted(version, rules and json.loads(rules), mail_ports_closed)
    return None


@cache
def _read_statement() -> Statement:
    enabled = FirewallDevice.objects.filter(instance=OuterRef("pk"), enabled=True)
    rows = PacketFilter.objects.annotate(rules=Subquery(enabled.values("firewall__rules")))
    return Statement.of(rows.filter(pk=Param("instance")).values_list("wanted", "rules", "mail_ports_closed"))


def settle(claimed: Claim, applied: int) -> bool:
    """Record the number that the host has now; True if a newer one is wanted, so that it must be delivered.

    False as well if another worker has claimed the filter since: that worker delivers the rest.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SETTLE, {"id": claimed.instance_id, "fence": claimed.fence, "applied": applied})
        row = cursor.fetchone()
    return bool(row and row[0])


def postpone(claimed: Claim, error: str) -> None:
    """Release the lease and retry later, with growing delays and without end, because the rules stay wanted."""
    delay = min(2**claimed.attempt, MAX_WAIT) * settings.JOB_BACKOFF
    values = {"id": claimed.instance_id, "fence": claimed.fence, "error": error[:MAX_ERROR_LENGTH], "delay": delay}
    with connection.cursor() as cursor:
        cursor.execute(_POSTPONE, values)


def due(limit: int = 500) -> list[int]:
    """Mark filters that are due and were not notified lately as notified, and return their instances' ids."""
    with connection.cursor() as cursor:
        values = {"patience": settings.JOB_NOTIFY_PATIENCE, "limit": limit, "horizon": _horizon()}
        cursor.execute(_DUE, values)
        return [row[0] for row in cursor.fetchall()]


def _horizon() -> float:
    return leases.horizon_of(MAX_WAIT * settings.JOB_BACKOFF, settings.JOB_LEASE)
