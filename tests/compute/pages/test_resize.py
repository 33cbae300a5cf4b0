"""Resize and upgrade in a browser."""

import re

import pytest

from compute.models import Host, Instance, InstanceType
from compute.services.hosts.placement import REGION_FULL
from compute.services.instances.resize import NO_UPGRADE
from config.pages.reasons import text_on_page
from tests.accounts.pages.browsers import problems
from tests.compute.pages.visiting import last_event, owner_of, page_of, text_of
from tests.compute.run_jobs import finish
from tests.compute.worker.scenarios import deployed
from tests.factories import DiskFactory, HostFactory, InstanceTypeFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def larger(world) -> InstanceType:
    return InstanceTypeFactory(id="g6-test-4", label="Test 4GB", memory=4096, disk=51200, vcpus=4)


def test_an_instance_gets_another_type(world, driver, larger):
    browser, instance = owner_of(world), deployed(world, driver)
    assert "4 GB memory, 4 processors, 50 GB disk" in text_of(browser.get(page_of(instance, "resize")))
    answer = browser.post(page_of(instance, "resize"), {"type": larger.pk, "allow_auto_disk_resize": "on"})
    assert answer["Location"] == page_of(instance)
    assert last_event(instance) == "compute_resize"
    finish(instance, driver)
    assert instance.type == larger
    assert sum(instance.disks.values_list("size", flat=True)) == larger.disk


def test_types_that_the_instance_cannot_get_are_disabled_with_the_reason(world, larger):
    InstanceTypeFactory(id="g6-test-1", label="Test 1GB", disk=10)
    InstanceTypeFactory(id="g1-gpu", label="GPU", type_class="gpu")
    instance = world.offline(image=None)
    DiskFactory(instance=instance, size=20)
    page = text_of(owner_of(world).get(page_of(instance, "resize")))
    assert page.count("disabled>") == 3
    assert re.findall(r'<details( open)? class="group"><summary class="group-name">([^<]+)', page) == [
        (" open", "Shared processors"), ("", "Graphics processors"),
    ]  # fmt: skip
    for reason in (
        "Instance is already running this service plan.",
        "They need 20 MB, and the type has 10 MB.",
        "The instance&#x27;s region does not offer GPU instances.",
    ):
        assert reason in page


def test_types_without_room_are_disabled_with_the_reason(world, larger):
    instance = world.offline(image=None)
    browser = owner_of(world)
    used, full = instance.host.memory_used, f'<span class="choice-note">{REGION_FULL}</span>'
    # the instance frees its own memory: the host has exactly enough for the larger type, then one MB less
    Host.objects.update(memory=used - instance.type.memory + larger.memory)
    assert full not in text_of(browser.get(page_of(instance, "resize")))
    Host.objects.update(memory=used - instance.type.memory + larger.memory - 1)
    assert full in text_of(browser.get(page_of(instance, "resize")))
    assert problems(browser.post(page_of(instance, "resize"), {"type": larger.pk}), "type") == REGION_FULL
    other = HostFactory(region=world.region)
    assert full not in text_of(browser.get(page_of(instance, "resize")))
    Host.objects.filter(pk=other.pk).update(enabled=False)
    assert full in text_of(browser.get(page_of(instance, "resize")))


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({}, "Type is required"),
        ({"type": "none"}, "A valid plan type by that ID was not found"),
        ({"type": "g6-test-2"}, "Instance is already running this service plan."),
    ],
)
def test_the_reason_stands_at_the_type(world, sent, reason):
    answer = owner_of(world).post(page_of(world.offline(), "resize"), sent)
    assert problems(answer, "type") == reason


def test_a_deprecated_type_is_upgraded(world, larger):
    instance = world.offline()
    browser = owner_of(world)
    assert text_on_page(NO_UPGRADE) in text_of(browser.get(page_of(instance, "upgrade"))).replace("&#x27;", "'")
    assert ">Upgrade</a>" not in text_of(browser.get(page_of(instance)))
    InstanceType.objects.filter(pk=instance.type_id).update(deprecated=True, successor=larger)
    assert ">Upgrade</a>" in text_of(browser.get(page_of(instance)))
    assert "from Test 2GB to Test 4GB" in text_of(browser.get(page_of(instance, "upgrade")))
    browser.post(page_of(instance, "upgrade"))
    assert last_event(instance) == "compute_mutate"
    assert Instance.objects.get(pk=instance.pk).status == "migrating"
