"""Alerts: one notification when an average of two hours rises above its threshold."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail
from django.db import connection

from accounts.models import Event, Message
from accounts.services import outbox
from compute.models import Alert, Sample, Transfer
from compute.services.stats.alerts import check
from compute.services.stats.sampling import COUNTERS
from tests.factories import InstanceFactory, UserFactory

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
FIVE = timedelta(minutes=5)


@pytest.fixture
def instance(account, owner, restricted):
    return InstanceFactory(account=account, label="web-1", alert_cpu=90)


def busy(instance, count: int = 24, until: datetime = NOON, **rates: float) -> None:
    """Create samples of the last `count` intervals of five minutes."""
    Sample.objects.bulk_create(
        Sample(instance=instance, at=until - n * FIVE, **{**dict.fromkeys(COUNTERS, 0.0), **rates})
        for n in range(1, count + 1)
    )


def test_an_average_above_the_threshold_makes_an_event_and_a_mail(instance, owner):
    busy(instance, cpu=95)
    assert check(NOON) == 1
    event = Event.objects.get()
    assert (event.entity_label, event.username, event.status) == ("web-1", "", "notification")
    assert event.message == "CPU usage was 95.0 % on average over two hours; the alert is at 90."
    outbox.send_due()
    [letter] = mail.outbox
    assert letter.to == [owner.email]
    assert letter.subject == "Alert: web-1"
    assert event.message in letter.body
    assert event.message in str(letter.alternatives[0][0])


def test_an_alert_is_sent_once_until_it_ends(instance):
    busy(instance, cpu=95)
    assert (check(NOON), check(NOON + FIVE)) == (1, 0)
    assert Alert.objects.get().cleared is None
    later = NOON + timedelta(hours=3)
    assert check(later) == 0
    assert Alert.objects.get().cleared is not None
    busy(instance, until=later + timedelta(hours=2), cpu=99)
    assert check(later + timedelta(hours=2)) == 1
    assert (Alert.objects.count(), Event.objects.count()) == (2, 2)


@pytest.mark.parametrize(
    ("rates", "threshold", "metric"),
    [
        ({"cpu": 91.0}, {"alert_cpu": 90}, "cpu"),
        ({"io": 10001.0}, {"alert_io": 10000}, "io"),
        ({"v4_in": 6e6, "v6_in": 5e6}, {"alert_network_in": 10}, "network_in"),
        ({"v4_out": 11e6}, {"alert_network_out": 10}, "network_out"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_threshold_is_in_its_own_unit(instance, rates, threshold, metric):
    for name, value in threshold.items():
        setattr(instance, name, value)
    instance.save()
    busy(instance, **rates)
    check(NOON)
    assert Alert.objects.get().metric == metric


def test_private_traffic_counts_for_nothing(instance):
    busy(instance, v4_private_in=1e9, v6_private_out=1e9)
    assert check(NOON) == 0


def test_at_the_threshold_is_not_above_it(instance):
    busy(instance, cpu=90)
    assert check(NOON) == 0


def test_a_short_peak_is_no_average_of_two_hours(instance):
    busy(instance, count=6, cpu=100)
    assert check(NOON) == 0


def test_zero_turns_an_alert_off_and_ends_it(instance):
    busy(instance, cpu=95)
    check(NOON)
    instance.alert_cpu = 0
    instance.save()
    assert check(NOON) == 0
    assert Alert.objects.get().cleared is not None


def test_transfer_is_measured_against_this_months_quota(instance):
    sent = instance.type.transfer * 10**7 * 81
    Transfer.objects.create(account=instance.account, instance=instance, month="2026-03-01", sent=sent)
    assert check(NOON) == 1
    messages = Event.objects.get().message
    assert messages == "Network transfer has reached 81 % of this month's quota; the alert is at 80."
    assert check(datetime(2026, 4, 1, tzinfo=UTC)) == 0
    assert Alert.objects.get().cleared is not None, "a new month begins with nothing used"


def test_only_those_who_want_mails_get_them(instance, owner, account):
    owner.email_notifications = False
    owner.save()
    UserFactory(account=account, is_active=False)
    busy(instance, cpu=95)
    check(NOON)
    assert not Message.objects.exists()
    assert Event.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_one_of_many_simultaneous_checks_sends_the_alert(instance):
    busy(instance, cpu=95)

    def check_alerts(_) -> int:
        try:
            return check(NOON)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(check_alerts, range(6))) == 1
    assert (Alert.objects.count(), Event.objects.count(), Message.objects.count()) == (1, 1, 1)
