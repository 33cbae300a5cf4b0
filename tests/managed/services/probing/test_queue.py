"""The prober's queue: which prober checks a service, and when."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import Account
from managed.models import Issue, Measurement, Service
from managed.services import incidents, probing
from managed.services.probing import MARGIN_SECONDS, claim, next_slot
from tests.managed.watched import (
    DOWN,
    UP,
    claim_one,
    claimed,
    clock,
    mails,
    make_due,
    managed_account,
    settle,
    watch,
)

pytestmark = pytest.mark.django_db


def test_a_claim_returns_the_check(account):
    service = watch(account, service_type="tcp", address="10.0.0.1:22", timeout=7, body=None)
    [probe] = claim(10)
    service.refresh_from_db()
    assert (probe.service_id, probe.account_id, probe.fence) == (service.pk, account.pk, service.fence)
    assert (probe.service_type, probe.address, probe.body, probe.timeout) == ("tcp", "10.0.0.1:22", "", 7)
    assert probe.private is False
    assert service.lease_until == probe.claimed + timedelta(seconds=7 + MARGIN_SECONDS)


def test_a_worker_without_the_lease_writes_no_measurement(service):
    [slow] = claim(10)
    Service.objects.update(lease_until=clock())
    [holder] = claim(10)
    assert not probing.settle(slow, DOWN)
    assert probing.settle(holder, UP)
    assert Measurement.objects.count() == 1


def test_claims_the_service_that_has_waited_longest(account):
    waiting = [watch(account) for _ in range(4)]
    for ago, service in zip((5000, 20_000, 1000, 10_000), waiting, strict=True):
        make_due(service, ago=ago)
    order = [probe.service_id for _ in range(4) for probe in claim(1)]
    assert order == [waiting[n].pk for n in (1, 3, 0, 2)]


def test_an_account_whose_services_hang_leaves_room_for_others(account, settings):
    settings.PROBE_SHARE = 3
    hanging = [watch(account) for _ in range(8)]
    make_due(*hanging, ago=60)
    others = {watch(managed_account()).pk for _ in range(4)}
    first = claimed()
    assert set(first) == {service.pk for service in hanging[:3]} | others
    assert claimed() == []
    Service.objects.filter(pk=hanging[1].pk).update(lease_until=None, next_check_at=clock() + timedelta(minutes=1))
    assert claimed() == [hanging[3].pk], "one has ended, one begins"


def test_a_lease_that_is_over_takes_up_no_room(account, settings):
    settings.PROBE_SHARE = 2
    services = [watch(account) for _ in range(4)]
    assert len(claimed()) == 2
    Service.objects.exclude(lease_until=None).update(lease_until=clock())
    assert sorted(claimed()) == [service.pk for service in services[:2]]


def test_claims_from_before_a_clock_change_do_not_count_for_the_share(account, settings):
    settings.PROBE_SHARE = 2
    services = [watch(account) for _ in range(4)]
    assert len(claimed()) == 2
    year = clock() + timedelta(days=365)
    Service.objects.exclude(lease_until=None).update(lease_until=year, next_check_at=clock() + timedelta(minutes=1))
    assert sorted(claimed()) == [service.pk for service in services[2:]]


def test_services_not_due_or_disabled_are_not_claimed(account):
    later = watch(account)
    Service.objects.filter(pk=later.pk).update(next_check_at=clock() + timedelta(seconds=5))
    watch(account, status="disabled")
    assert claimed() == []


def test_services_postponed_too_far_are_due(account, settings):
    """No service waits for an hour because its interval was an hour until a moment ago."""
    settings.PROBE_EVERY = 60
    near, far = watch(account), watch(account)
    make_due(near, ago=-90)  # as late as the next check after a claim may be
    make_due(far, ago=-3600)
    assert claimed() == [far.pk]


def test_a_suspended_account_and_one_without_managed_are_not_checked(account):
    watch(managed_account(is_active=False))
    unmanaged = managed_account()
    watch(unmanaged)
    Account.objects.filter(pk=unmanaged.pk).update(managed=False)
    mine = watch(account)
    assert claimed() == [mine.pk]


@pytest.mark.parametrize("change", [{"is_active": False}, {"managed": False}])
def test_an_account_suspended_while_a_check_is_under_way_hears_nothing_of_it(account, service, change):
    settle(service, UP, DOWN)
    probe = claim_one(service)
    Account.objects.filter(pk=account.pk).update(**change)
    assert not probing.settle(probe, DOWN)
    service.refresh_from_db()
    assert (service.status, Issue.objects.count(), mails()) == ("ok", 0, [])


def test_released_services_are_due_at_once(account):
    first, second = watch(account), watch(account)
    probes = claim(10)
    Service.objects.filter(pk=second.pk).update(fence=99)
    probing.release(probes)
    assert claimed() == [first.pk], "the second is somebody else's by now"
    probing.release([])


# --- when -------------------------------------------------------------------------------------------------------

MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


@given(st.integers(1, 10**9), st.integers(10, 3600), MOMENTS, st.floats(0, 400))
def test_the_next_check_is_in_the_services_own_slot(settings, key, interval, claimed_at, took):
    settings.PROBE_EVERY = interval
    at = claimed_at + timedelta(seconds=took)
    slot = next_slot(key, claimed_at, at)
    earliest = max(claimed_at + timedelta(seconds=interval / 2), at)
    assert earliest - timedelta(milliseconds=1) <= slot <= earliest + timedelta(seconds=interval, milliseconds=1)
    again = next_slot(key, slot, slot)
    assert abs((again - slot).total_seconds() - interval) < 0.001
    late = slot + timedelta(seconds=interval / 3)
    assert abs(next_slot(key, late, late) - again) < timedelta(milliseconds=1)


@pytest.mark.parametrize("interval", [10, 37, 60, 61, 74, 3600])
@pytest.mark.parametrize("step", [1, 2, 3, 10, 37, 60])
def test_services_are_spread_over_the_interval_for_all_ids(settings, interval, step):
    settings.PROBE_EVERY = interval
    at = datetime(2026, 1, 1, tzinfo=UTC)
    slots = Counter(
        int(next_slot(key, at, at).timestamp() % interval * 10 / interval)
        for key in range(7, 7 + 1000 * step, step)
    )
    assert len(slots) == 10
    assert max(slots.values()) <= 130
    assert min(slots.values()) >= 70


def test_a_first_check_is_at_once_and_the_next_not_before_half_an_interval(account, settings):
    service = watch(account)
    [probe] = claim(1)
    probing.settle(probe, UP)
    service.refresh_from_db()
    waits = (service.next_check_at - probe.claimed).total_seconds()
    assert settings.PROBE_EVERY / 2 - 0.001 <= waits <= settings.PROBE_EVERY * 1.5
    assert claim(10) == [], "one check in each interval"


def test_the_clock_that_counts_is_the_databases(service, monkeypatch):
    """A host whose clock is an hour ahead must neither postpone checks nor write measurements of the future."""
    ahead = datetime.now(UTC) + timedelta(hours=1)
    for module in (probing, incidents):
        monkeypatch.setattr(module, "now", lambda: ahead, raising=False)
    monkeypatch.setattr("django.utils.timezone.now", lambda: ahead)
    checked = settle(service, UP)
    assert checked.next_check_at < clock() + timedelta(minutes=3)
    assert checked.checked_at <= clock()
    assert Measurement.objects.get().at == checked.checked_at
