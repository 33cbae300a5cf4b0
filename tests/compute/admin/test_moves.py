"""Host migrations: scheduled from an instance's page, started, cancelled."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now

from accounts.models import Event
from compute.models import HostMigration
from tests.config.admin.pages import do, messages_of, page_address
from tests.factories import HostFactory, HostMigrationFactory

pytestmark = pytest.mark.django_db

ADD = "admin:compute_hostmigration_add"


def add(admin, instance, **fields):
    moment = now() + timedelta(days=1)
    data = {"instance": instance.pk, "when_0": f"{moment:%Y-%m-%d}", "when_1": "12:00:00", "reason": "Worn out."}
    return admin.post(reverse(ADD), {**data, **fields}, follow=True)


def test_a_move_is_scheduled_from_the_page_of_the_instance(admin, running):
    page = admin.get(page_address(running)).content.decode()
    assert f"{reverse(ADD)}?instance={running.pk}" in page

    add(admin, running)

    migration = HostMigration.objects.get()
    assert (migration.instance, migration.status, migration.reason) == (running, "pending", "Worn out.")
    assert migration.when.hour == 12
    assert "Worn out." in admin.get(page_address(running)).content.decode()


def test_a_second_one_is_refused(admin, running):
    add(admin, running)
    assert "is scheduled already" in add(admin, running).content.decode()
    assert HostMigration.objects.count() == 1


def test_staff_may_start_it_before_its_time(admin, running):
    HostFactory(region=running.region)
    migration = HostMigrationFactory(instance=running)

    assert "was started" in messages_of(do(admin, migration, "start"))

    running.refresh_from_db()
    migration.refresh_from_db()
    assert (running.status, migration.status) == ("migrating", "started")
    assert Event.objects.get(action="compute_migrate").username == "staff"
    assert "Only a migration that is pending" in messages_of(do(admin, migration, "start"))


def test_a_pending_move_can_be_cancelled(admin, running):
    migration = HostMigrationFactory(instance=running)
    do(admin, migration, "cancel")
    migration.refresh_from_db()
    assert migration.status == "cancelled"
    assert "Only a migration that is pending" in messages_of(do(admin, migration, "cancel"))


def test_without_another_host_it_is_refused_and_stays_pending(admin, running):
    migration = HostMigrationFactory(instance=running)
    do(admin, migration, "start")
    migration.refresh_from_db()
    assert migration.status == "pending"
