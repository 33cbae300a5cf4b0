"""Notifications of an account: moves, maintenance and outages, each only as long as it is true."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from compute.models import Host, HostMigration, Instance
from regions.models import Region
from tests.factories import GrantFactory, HostFactory, HostMigrationFactory, InstanceFactory

pytestmark = pytest.mark.django_db

NOTIFICATIONS = "/v4/account/notifications"
MAINTENANCE = "/v4/account/maintenance"


@pytest.fixture
def instance(account) -> Instance:
    return InstanceFactory(account=account, label="web-1")


def listed(api, path: str, x_filter=None) -> list[dict]:
    response = api.get(path, x_filter)
    assert response.status_code == 200, response.content
    body = response.json()
    assert body["results"] == len(body["data"])
    return body["data"]


def wire_time(moment) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}"


def in_maintenance(instance: Instance) -> Host:
    host = Host.objects.get(pk=instance.host_id)
    host.maintenance = now()
    host.save()
    return host


def test_without_outages_and_maintenance_the_lists_are_empty(api, instance):
    empty = {"data": [], "page": 1, "pages": 1, "results": 0}
    assert api.get(NOTIFICATIONS).json() == empty
    assert api.get(MAINTENANCE).json() == empty


def test_a_scheduled_migration_is_listed_with_its_time(api, instance):
    moment = now() + timedelta(days=1)
    HostMigrationFactory(instance=instance, when=moment, reason="The host is worn out.")

    (notice,) = listed(api, NOTIFICATIONS)
    assert notice["type"] == "migration_scheduled"
    assert notice["entity"] == {
        "id": instance.pk,
        "label": "web-1",
        "type": "compute",
        "url": f"/v4/compute/instances/{instance.pk}",
    }
    assert (notice["when"], notice["until"], notice["severity"]) == (wire_time(moment), None, "major")
    assert "web-1" in notice["message"]
    assert notice["body"] == "The host is worn out."
    assert listed(api, MAINTENANCE) == [
        {
            "type": "cold_migration",
            "status": "pending",
            "reason": "The host is worn out.",
            "when": wire_time(moment),
            "entity": notice["entity"],
        }
    ]


def test_a_waiting_move_is_pending_and_a_running_one_is_maintenance(api, instance):
    migration = HostMigrationFactory(instance=instance, when=now() - timedelta(minutes=1))
    assert [each["type"] for each in listed(api, NOTIFICATIONS)] == ["migration_pending"]

    HostMigration.objects.filter(pk=migration.pk).update(status="started")
    assert [each["type"] for each in listed(api, NOTIFICATIONS)] == ["maintenance"]
    assert [each["status"] for each in listed(api, MAINTENANCE)] == ["started"]


@pytest.mark.parametrize("status", ["done", "cancelled"])
def test_ended_migrations_are_not_listed(status, api, instance):
    HostMigration.objects.create(instance=instance, when=now(), status=status)
    assert listed(api, NOTIFICATIONS) == listed(api, MAINTENANCE) == []


def test_maintenance_of_the_host_is_listed_from_its_beginning(api, instance):
    host = in_maintenance(instance)

    (notice,) = listed(api, MAINTENANCE)
    assert (notice["type"], notice["status"]) == ("reboot", "started")
    assert notice["when"] == wire_time(host.maintenance)
    assert notice["entity"]["id"] == instance.pk
    (notice,) = listed(api, NOTIFICATIONS)
    assert (notice["type"], notice["entity"]["id"]) == ("maintenance", instance.pk)


def test_an_outage_names_the_region(api, instance):
    Region.objects.filter(pk="us-test").update(status="outage")
    (notice,) = listed(api, NOTIFICATIONS)
    assert (notice["type"], notice["severity"], notice["when"]) == ("outage", "critical", None)
    assert notice["entity"] == {"label": "us-test", "type": "region", "url": "/v4/regions/us-test"}
    assert "us-test" in notice["message"]
    assert listed(api, MAINTENANCE) == []


def away(instance: Instance, seconds: float = 60) -> Host:
    """Make the instance's host silent for so many seconds."""
    host = Host.objects.get(pk=instance.host_id)
    host.unreachable_since = now() - timedelta(seconds=seconds)
    host.save()
    return host


def test_an_outage_is_listed_for_the_instances_until_the_host_answers(api, instance, account):
    InstanceFactory(account=account, host=HostFactory())
    host = away(instance)
    (notice,) = listed(api, NOTIFICATIONS)
    assert (notice["type"], notice["severity"]) == ("outage", "critical")
    assert (notice["label"], notice["when"]) == ("Its host does not answer.", wire_time(host.unreachable_since))
    assert (notice["entity"]["id"], notice["entity"]["type"]) == (instance.pk, "compute")
    assert notice["message"].startswith("web-1 may not be available")
    assert str(host) not in str(notice), "hosts are the platform's own"
    assert listed(api, MAINTENANCE) == []

    Host.objects.filter(pk=host.pk).update(unreachable_since=None)
    assert listed(api, NOTIFICATIONS) == []


def test_a_silence_shorter_than_a_round_of_the_watchdog_is_no_outage(api, instance, settings):
    settings.WATCHDOG_EVERY = 10
    away(instance, seconds=5)
    assert listed(api, NOTIFICATIONS) == []
    away(instance, seconds=15)
    assert len(listed(api, NOTIFICATIONS)) == 1


def test_a_host_in_maintenance_is_silent_on_purpose(api, instance):
    away(instance)
    in_maintenance(instance)
    assert [each["type"] for each in listed(api, NOTIFICATIONS)] == ["maintenance"]


def test_users_who_may_see_the_instance_see_its_outage(api, client_for, stranger, restricted, instance, account):
    other = InstanceFactory(account=account, host=instance.host)
    away(instance)
    assert {each["entity"]["id"] for each in listed(api, NOTIFICATIONS)} == {instance.pk, other.pk}
    GrantFactory(user=restricted, entity_id=instance.pk)
    assert listed(client_for(stranger), NOTIFICATIONS) == []
    assert [each["entity"]["id"] for each in listed(client_for(restricted), NOTIFICATIONS)] == [instance.pk]


def test_others_hear_nothing_of_it(client_for, stranger, restricted, instance, account):
    other = InstanceFactory(account=account)
    for each in (instance, other):
        HostMigrationFactory(instance=each)
    in_maintenance(other)
    GrantFactory(user=restricted, entity_id=instance.pk)

    for path in (NOTIFICATIONS, MAINTENANCE):
        assert listed(client_for(stranger), path) == []
        assert [each["entity"]["id"] for each in listed(client_for(restricted), path)] == [instance.pk]


def test_maintenance_is_filtered_and_ordered(api, account):
    first, second, third = (InstanceFactory(account=account) for _ in range(3))
    HostMigrationFactory(instance=first, when=now() + timedelta(days=2))
    HostMigrationFactory(instance=second, when=now() + timedelta(days=1))
    in_maintenance(third)

    def ids(x_filter) -> list[int]:
        return [each["entity"]["id"] for each in listed(api, MAINTENANCE, x_filter)]

    assert ids({}) == [third.pk, second.pk, first.pk]
    assert ids({"type": "reboot"}) == [third.pk]
    assert ids({"type": {"+neq": "reboot"}, "+order_by": "when", "+order": "desc"}) == [first.pk, second.pk]
    assert ids({"status": "started"}) == [third.pk]
    assert ids(
        {"+or": [{"status": "started"}, {"when": {"+gt": wire_time(now() + timedelta(days=1, hours=1))}}]}
    ) == [
        third.pk,
        first.pk,
    ]
    assert ids({"+order_by": "type"}) == [second.pk, first.pk, third.pk]
    assert api.get(f"{MAINTENANCE}?status=pending").json()["results"] == 2


@pytest.mark.parametrize("path", [NOTIFICATIONS, MAINTENANCE])
def test_a_field_that_cannot_be_filtered_is_named(path, api):
    response = api.get(path, {"entity": 1})
    assert response.status_code == 400
    assert response.json()["errors"] == [{"field": "X-Filter", "reason": "Cannot filter on entity"}]


def test_pages(api, account):
    host = HostFactory(maintenance=now())
    InstanceFactory.create_batch(30, account=account, host=host)
    first = api.get(f"{MAINTENANCE}?page_size=25").json()
    second = api.get(f"{MAINTENANCE}?page_size=25&page=2").json()
    assert (first["pages"], first["results"], len(first["data"]), len(second["data"])) == (2, 30, 25, 5)
    ids = [each["entity"]["id"] for each in first["data"] + second["data"]]
    assert ids == sorted(set(ids))
    assert api.get(f"{MAINTENANCE}?page=9").json() == {"data": [], "page": 9, "pages": 1, "results": 30}
    assert api.get(f"{NOTIFICATIONS}?page_size=1").status_code == 400


@pytest.mark.parametrize("path", [NOTIFICATIONS, MAINTENANCE])
def test_more_to_tell_costs_no_more_queries(path, api, account):
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert api.get(path).status_code == 200
        return len(queries)

    few = count()
    host = HostFactory(maintenance=now())
    for instance in InstanceFactory.create_batch(10, account=account, host=host):
        HostMigrationFactory(instance=instance)
    InstanceFactory.create_batch(
        10, account=account, host=HostFactory(unreachable_since=now() - timedelta(hours=1))
    )
    assert count() == few == 3


@pytest.mark.parametrize("path", [NOTIFICATIONS, MAINTENANCE])
def test_a_token_needs_the_account_scope(path, client_for, owner):
    assert client_for(owner, "account:read_only").get(path).status_code == 200
    assert client_for(owner, "computes:read_write").get(path).status_code == 401
