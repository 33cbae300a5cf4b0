"""Alerts: raised once when an instance's average of two hours exceeds its threshold, and cleared when it no longer
does."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.models import User
from accounts.services import outbox
from accounts.services.events import record_event
from compute.models import Alert, Instance
from compute.refs import instance_ref
from compute.services.common.months import month_of
from config import word

AVERAGED_TIME = timedelta(hours=2)
WORDS = {
    Alert.Metric.CPU: ("CPU usage", "%"),
    Alert.Metric.IO: ("Disk I/O", "blocks a second"),
    Alert.Metric.NETWORK_IN: ("Incoming traffic", "Mbit/s"),
    Alert.Metric.NETWORK_OUT: ("Outgoing traffic", "Mbit/s"),
    Alert.Metric.TRANSFER_QUOTA: ("Network transfer", "% of this month's quota"),
}

# Missing samples count as zero: an instance that was off did nothing. A threshold of 0 turns the alert off.
_STANDING = """
WITH used AS (
    SELECT instance_id, sum(cpu) / %(samples)s AS cpu, sum(io) / %(samples)s AS io,
           sum(v4_in + v6_in) / %(samples)s / 1e6 AS network_in,
           sum(v4_out + v6_out) / %(samples)s / 1e6 AS network_out
      FROM compute_sample WHERE span = 300 AND at >= %(since)s AND at < %(until)s
     GROUP BY instance_id
), standing AS (
    SELECT i.id, m.metric, COALESCE(m.value, 0)::float8 AS value, m.threshold,
           m.threshold > 0 AND COALESCE(m.value, 0) > m.threshold AS above
      FROM compute_instance i
      JOIN compute_instancetype t ON t.id = i.type_id
      LEFT JOIN used u ON u.instance_id = i.id
      LEFT JOIN compute_transfer q ON q.instance_id = i.id AND q.month = %(month)s
     CROSS JOIN LATERAL (VALUES
           ('cpu', u.cpu, i.alert_cpu), ('io', u.io, i.alert_io), ('network_in', u.network_in, i.alert_network_in),
           ('network_out', u.network_out, i.alert_network_out),
           ('transfer_quota', 100.0 * q.sent / NULLIF(t.transfer * 1e9, 0), i.alert_transfer_quota)
         ) AS m (metric, value, threshold)
)
SELECT s.id, s.metric, s.value, s.threshold, a.id
  FROM standing s
  LEFT JOIN compute_alert a ON a.instance_id = s.id AND a.metric = s.metric AND a.cleared IS NULL
 WHERE s.above <> (a.id IS NOT NULL)
 ORDER BY s.id, s.metric
"""
"""Averages that differ from their alert: above without an open alert, or below with one. The id of the alert is
last."""

_INSERT = """
INSERT INTO compute_alert (instance_id, metric, value, threshold, raised)
VALUES (%s, %s, %s, %s, statement_timestamp())
ON CONFLICT (instance_id, metric) WHERE cleared IS NULL DO NOTHING
RETURNING id
"""


@dataclass(frozen=True, slots=True)
class Crossing:
    """An average that has risen above its threshold."""

    instance_id: int
    metric: str
    value: float
    threshold: int


def check(at: datetime) -> int:
    """Check all averages of the two hours before `at`: raise alerts that are new, and clear those that are over.

    Returns the number of new alerts. Any number of processes may check at once: only one raises each alert.
    """
    asked: dict[str, Any] = {
        "samples": AVERAGED_TIME.total_seconds() / 300, "since": at - AVERAGED_TIME, "until": at,
        "month": month_of(at),
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_STANDING, asked)
        rows = cursor.fetchall()
    Alert.objects.filter(pk__in=[row[-1] for row in rows if row[-1]], cleared=None).update(cleared=Now())
    return sum(_raise(Crossing(*row[:-1])) for row in rows if row[-1] is None)


@transaction.atomic
def _raise(crossing: Crossing) -> bool:
    """Write the alert with its event and its mails. False if another process was first."""
    instance = Instance.objects.filter(pk=crossing.instance_id).first()
    if instance is None:
        return False
    # the index of open alerts decides: the second process gets no row back
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, [instance.pk, crossing.metric, crossing.value, crossing.threshold])
        if cursor.fetchone() is None:
            return False
    words = sentence(crossing)
    record_event(Actor.platform(instance.account_id), "compute_update", instance_ref(instance), message=words)
    for user in User.objects.filter(
        account_id=instance.account_id, restricted=False, is_active=True, email_notifications=True
    ):
        outbox.mail(user, "alert", {"instance": instance, "words": words, "compute": word.on_wire("compute")})
    return True


def sentence(crossing: Crossing) -> str:
    """Return the sentence about a crossing for the event and the mails."""
    name, unit = WORDS[Alert.Metric(crossing.metric)]
    if crossing.metric == Alert.Metric.TRANSFER_QUOTA:
        return f"{name} has reached {crossing.value:.0f} {unit}; the alert is at {crossing.threshold}."
    return (
        f"{name} was {crossing.value:.1f} {unit} on average over two hours; the alert is at {crossing.threshold}."
    )
