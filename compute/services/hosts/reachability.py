"""Recording whether hosts answer: written and logged once for each change, however many workers notice it."""

import logging
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Q

log = logging.getLogger(__name__)

MAX_ERROR_LENGTH = 500
BEING_ADDED = Q(enabled=False, memory=0)
"""The condition for hosts that were never measured. Only the process that adds such a host cares whether it
answers."""

# An answer that came after the call was made outweighs the call's failure. The error is kept up to date.
_UNREACHABLE = """
WITH before AS (
    SELECT id, unreachable_since FROM compute_host
     WHERE uuid::text = %(host)s AND (reachable_since IS NULL OR reachable_since <= %(asked)s)
       AND (unreachable_since IS NULL OR unreachable_error <> %(error)s)
       FOR NO KEY UPDATE
)
UPDATE compute_host AS host
   SET unreachable_since = COALESCE(host.unreachable_since, statement_timestamp()), unreachable_error = %(error)s
  FROM before WHERE host.id = before.id
RETURNING host.label, before.unreachable_since IS NULL AS begins, host.maintenance IS NOT NULL AS maintained
"""

_REACHABLE = """
WITH before AS (
    SELECT id, unreachable_since FROM compute_host
     WHERE uuid::text = %(host)s AND unreachable_since <= %(asked)s FOR NO KEY UPDATE
)
UPDATE compute_host AS host
   SET unreachable_since = NULL, unreachable_error = '', reachable_since = statement_timestamp(),
       reconcile_at = statement_timestamp()
  FROM before WHERE host.id = before.id
RETURNING host.label, statement_timestamp() - before.unreachable_since, host.maintenance IS NOT NULL
"""


def record_unreachable(host: str, error: str, asked: datetime) -> bool:
    """Record that a call to the host (its uuid), made at `asked`, was not answered; True if that is new.

    Writes nothing if the same `error` is recorded already, if the host answered another worker after `asked`, or if
    the host no longer exists. Times are on the database's clock.
    """
    with connection.cursor() as cursor:
        cursor.execute(_UNREACHABLE, {"host": host, "error": error[:MAX_ERROR_LENGTH], "asked": asked})
        row = cursor.fetchone()
    if row is None or not row[1]:
        return False
    label, _, maintained = row
    log.log(_level(maintained), "host %s does not answer: %s", label, error)
    return True


def record_reachable(host: str, asked: datetime) -> bool:
    """Record that the host (its uuid) answered a call made at `asked`; True if it was recorded as unreachable.

    An answer to a call that was made before the host fell silent changes nothing.
    """
    with connection.cursor() as cursor:
        cursor.execute(_REACHABLE, {"host": host, "asked": asked})
        row = cursor.fetchone()
    if row is None:
        return False
    label, silent, maintained = row
    span = timedelta(seconds=round(silent.total_seconds()))
    log.log(_level(maintained), "host %s answers again, after %s", label, span)
    return True


def _level(maintained: bool) -> int:
    """Return the level of the log line: INFO for a host in maintenance, which is switched off on purpose."""
    return logging.INFO if maintained else logging.WARNING
