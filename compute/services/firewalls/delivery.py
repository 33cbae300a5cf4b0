"""How far the hosts have heard of firewalls: what is wanted of which instance, and what is confirmed.

A change says in its own transaction that an instance has another filter from now on. Somebody then tells the host,
reading what is true at that moment with its number, so that however many changes there were, the last is told. Two
who tell the same host, because one was slow or thought dead, do no harm: hosts keep what has the higher number, and
one alone writes what came of it. See docs/firewalls.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.conf import settings
from django.db import connection, transaction
from django.db.models import OuterRef, Subquery

from compute.models import FirewallDevice, PacketFilter
from compute.services.firewalls.nftables import interface_name, render
from config.db import leases
from config.notify import notify

TASK = "compute.jobs.apply_firewall"
MAX_NOTIFIED_PER_REQUEST = 100
"""How many notifications a request sends; the sweep sends the others within a second."""
LONGEST_WAIT = 60
LONGEST_ERROR = 500


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to tell the host of an instance, until the lease runs out or another one is given."""

    instance_id: int
    fence: int
    attempt: int
    given: datetime


_CHANGED = """
INSERT INTO compute_packetfilter AS f (instance_id, wanted)
SELECT id, 1 FROM unnest(%s::bigint[]) AS id ORDER BY id
ON CONFLICT (instance_id) DO UPDATE
   SET wanted = f.wanted + 1, run_at = statement_timestamp(), notified_at = NULL, attempt = 0,
       changed = CASE WHEN f.applied < f.wanted THEN f.changed ELSE statement_timestamp() END
"""

_CLAIM = f"""
UPDATE compute_packetfilter SET {leases.taken()}, attempt = attempt + 1
 WHERE instance_id = %(id)s AND applied < wanted AND {leases.FREE}
RETURNING instance_id, fence, attempt, statement_timestamp()
"""  # noqa: S608 - of constants

# Where the host has a higher number than was ever given here, our tables are older than it: they were restored
# from a backup. What they say now wins by a number beyond it.
_SETTLE = f"""
UPDATE compute_packetfilter
   SET applied = CASE WHEN %(applied)s > wanted THEN applied ELSE GREATEST(applied, %(applied)s) END,
       wanted = CASE WHEN %(applied)s > wanted THEN %(applied)s + 1 ELSE wanted END,
       confirmed = statement_timestamp(), {leases.GIVEN_BACK}, attempt = 0, error = '',
       changed = CASE WHEN %(applied)s = wanted THEN changed ELSE statement_timestamp() END
 WHERE instance_id = %(id)s AND {leases.MINE}
RETURNING applied < wanted
"""  # noqa: S608 - of constants

# A change that came meanwhile has set `attempt` to 0: what failed was older, and the change is not to wait for it.
_POSTPONE = f"""
UPDATE compute_packetfilter
   SET {leases.GIVEN_BACK}, error = %(error)s, notified_at = NULL,
       run_at = CASE WHEN attempt = 0 THEN run_at ELSE {leases.after("%(delay)s")} END
 WHERE instance_id = %(id)s AND {leases.MINE}
"""  # noqa: S608 - of constants

_TO_NOTIFY = f"""
SELECT instance_id FROM compute_packetfilter
 WHERE applied < wanted AND {leases.FREE} AND {leases.NOT_NOTIFIED_LATELY}
 ORDER BY run_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
"""  # noqa: S608 - of constants
_DUE = f"""
UPDATE compute_packetfilter SET notified_at = statement_timestamp() WHERE {leases.chosen("instance_id", _TO_NOTIFY)}
RETURNING instance_id
"""  # noqa: S608 - of constants


def changed(instance_ids: Iterable[int]) -> None:
    """Note in the transaction of a change that these instances have another filter, and notify once it is
    committed.

    The instances are locked, so that none goes away meanwhile and all who change several wait in one order.
    """
    ids = sorted(instance_ids)
    if not ids:
        return
    if not connection.in_atomic_block:
        raise RuntimeError("a filter changes in the transaction of what it follows from")
    with connection.cursor() as cursor:
        cursor.execute(_CHANGED, [ids])
    transaction.on_commit(partial(notify_all, ids[:MAX_NOTIFIED_PER_REQUEST]), robust=True)


def notify_all(instance_ids: Iterable[int]) -> None:
    for instance_id in instance_ids:
        notify(TASK, instance_id)


def claim(instance_id: int) -> Claim | None:
    """Take the lease of what is due; None where the host has all, or somebody else is at it."""
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {"id": instance_id, "lease": settings.JOB_LEASE, "horizon": _horizon()})
        row = cursor.fetchone()
    return None if row is None else Claim(*row)


def read(instance_id: int | None, machine: str) -> tuple[int, str] | None:
    """The number of what is wanted now, and the ruleset; None for an instance that never had a firewall.

    One statement: whatever is committed meanwhile, the number is that of these rules.
    """
    enabled = FirewallDevice.objects.filter(instance=OuterRef("pk"), enabled=True)
    rows = PacketFilter.objects.annotate(rules=Subquery(enabled.values("firewall__rules")))
    found = rows.filter(pk=instance_id).values_list("pk", "wanted", "rules").first()
    if found is None:
        return None
    pk, wanted, rules = found
    return wanted, render(machine, interface_name(pk), rules)


def settle(claimed: Claim, applied: int) -> bool:
    """Write the number that the host has now; True where that is not the last one, so that it is to be told again.

    False as well where the claim counts no more: whoever has it now sees to the rest.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SETTLE, {"id": claimed.instance_id, "fence": claimed.fence, "applied": applied})
        row = cursor.fetchone()
    return bool(row and row[0])


def postpone(claimed: Claim, error: str) -> None:
    """Give the lease back and try again later, each time a little later: for ever, for the rules stay wanted."""
    delay = min(2**claimed.attempt, LONGEST_WAIT) * settings.JOB_BACKOFF
    values = {"id": claimed.instance_id, "fence": claimed.fence, "error": error[:LONGEST_ERROR], "delay": delay}
    with connection.cursor() as cursor:
        cursor.execute(_POSTPONE, values)


def due(limit: int = 500) -> list[int]:
    """The instances whose hosts are to be told now and of which nobody was notified lately; marks them as
    notified."""
    with connection.cursor() as cursor:
        values = {"patience": settings.JOB_NOTIFY_PATIENCE, "limit": limit, "horizon": _horizon()}
        cursor.execute(_DUE, values)
        return [row[0] for row in cursor.fetchall()]


def _horizon() -> float:
    return leases.horizon_of(LONGEST_WAIT * settings.JOB_BACKOFF, settings.JOB_LEASE)
