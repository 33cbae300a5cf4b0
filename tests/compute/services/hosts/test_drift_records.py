"""Rows of drift, and the times of comparisons."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from compute.models import Disk, Drift, Host
from compute.services.hosts import drift_records, drift_verbs
from compute.services.hosts.reachability import record_reachable, record_unreachable
from config.db.clock import database_now
from config.errors import Invalid
from tests.compute.comparing import STAFF, STRANGER, Kind, compare, is_over

pytestmark = pytest.mark.django_db


def test_drift_seen_once_and_then_not_ends_and_begins_anew(driver, instance, machine):
    driver.machines[STRANGER] = {**machine}
    compare(driver)
    drift = Drift.objects.get()
    with pytest.raises(Invalid, match="Only one comparison"):
        drift_verbs.set_aside(STAFF, drift)
    del driver.machines[STRANGER]
    is_over(drift, driver)
    driver.machines[STRANGER] = {**machine}
    compare(driver)
    assert Drift.objects.get(resolved_at=None).seen == 1
    assert Drift.objects.count() == 2


def test_a_host_that_answers_again_is_compared_at_once(instance):
    host = instance.host
    Host.objects.update(reconcile_at=Now() + timedelta(hours=1))
    assert drift_records.due() == []
    record_unreachable(str(host.uuid), "The host does not answer.", database_now())
    assert drift_records.due() == []
    assert record_reachable(str(host.uuid), database_now())
    assert drift_records.due() == [host.pk]


def test_old_drift_is_deleted(instance):
    old = Drift.objects.create(
        host=instance.host, kind=Kind.SHELL, name="old", resolved_at=Now() - timedelta(days=31)
    )
    Drift.objects.create(host=instance.host, kind=Kind.SHELL, name="open")
    Drift.objects.create(host=instance.host, kind=Kind.SHELL, name="new", resolved_at=Now())
    assert drift_records.delete_old() == 1
    assert not Drift.objects.filter(pk=old.pk).exists()
    assert Disk.objects.exists()
