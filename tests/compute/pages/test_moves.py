"""Moves to another region or host in a browser."""

import re
from zoneinfo import ZoneInfo

import pytest

from compute.jobs.data import MoveData
from compute.models import Host, Instance, InstanceType
from tests.accounts.pages.browsers import problems
from tests.compute.pages.visiting import last_event, owner_of, page_of, text_of
from tests.factories import (
    AddressPoolFactory,
    HostFactory,
    HostMigrationFactory,
    InstanceTypeFactory,
    RegionFactory,
    VolumeFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(world) -> Instance:
    return world.offline()


@pytest.fixture
def elsewhere(world) -> Host:
    host = HostFactory(region=RegionFactory(id="eu-test", country="de"))
    AddressPoolFactory(region=host.region, addresses=9)
    return host


def test_an_instance_moves_to_another_region(world, instance, elsewhere):
    browser = owner_of(world)
    page = text_of(browser.get(page_of(instance, "migrate")))
    assert '<option value="eu-test">eu-test (Germany)</option>' in page
    assert f'<option value="{world.region.pk}" disabled>' in page
    assert "Upgrade the type" not in page
    assert browser.post(page_of(instance, "migrate"), {"region": "eu-test"})["Location"] == page_of(instance)
    assert last_event(instance) == "compute_migrate_datacenter"


def test_a_scheduled_move_to_another_host_starts_now(world, instance):
    HostFactory(region=world.region)
    browser = owner_of(world)
    answer = browser.post(page_of(instance, "migrate"), {"region": ""})
    assert problems(answer, "region").startswith("No migration of this instance is scheduled")
    migration = HostMigrationFactory(instance=instance)
    world.account.users.update(timezone="Asia/Tokyo")
    page = text_of(browser.get(page_of(instance, "migrate")))
    assert "Another host of this region, now" in page
    when = migration.when.astimezone(ZoneInfo("Asia/Tokyo"))
    assert re.search(rf"scheduled for <time [^>]*UTC\">{when:%Y-%m-%d %H:%M}</time>\.", page)
    browser.post(page_of(instance, "migrate"), {"region": ""})
    assert last_event(instance) == "compute_migrate"


def test_the_reason_stands_at_the_region(world, instance, elsewhere):
    VolumeFactory(account=world.account, region=world.region, instance=instance)
    answer = owner_of(world).post(page_of(instance, "migrate"), {"region": "eu-test"})
    assert problems(answer, "region") == "Volumes are attached to the instance: detach them first."


def test_a_deprecated_type_may_be_upgraded_on_the_way(world, instance, elsewhere):
    larger = InstanceTypeFactory(id="g6-test-4", label="Test 4GB", disk=51200)
    InstanceType.objects.filter(pk=instance.type_id).update(deprecated=True, successor=larger)
    browser = owner_of(world)
    assert "Upgrade the type" in text_of(browser.get(page_of(instance, "migrate")))
    browser.post(page_of(instance, "migrate"), {"region": "eu-test", "upgrade": "on"})
    assert MoveData.from_json(instance.jobs.get(finished_at=None).data).type_id == larger.pk
