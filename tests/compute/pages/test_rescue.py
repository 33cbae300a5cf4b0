"""Rescue in a browser."""

import re

import pytest

from compute.models import Config
from compute.pages import choices
from tests.accounts.pages.browsers import problems
from tests.compute.pages.visiting import last_event, owner_of, page_of, text_of
from tests.compute.worker.scenarios import deployed
from tests.factories import VolumeFactory

pytestmark = pytest.mark.django_db


def test_an_instance_boots_into_rescue_with_the_chosen_devices(world, driver):
    browser, instance = owner_of(world), deployed(world, driver)
    disk, _ = instance.disks.order_by("pk")
    volume = VolumeFactory(account=world.account, region=world.region, label="data")
    page = text_of(browser.get(page_of(instance, "rescue")))
    assert re.search(rf'value="disk_id:{disk.pk}" selected', page)
    assert f'value="volume_id:{volume.pk}">data' in page
    sent = {"devices.sdb": f"disk_id:{disk.pk}", "devices.sdc": f"volume_id:{volume.pk}"}
    assert browser.post(page_of(instance, "rescue"), sent)["Location"] == page_of(instance)
    assert last_event(instance) == "compute_reboot"
    config = Config.objects.get(instance=instance, rescue=True)
    assert list(config.devices.values_list("slot", "disk_id")) == [("sdb", disk.pk)]


def test_the_reason_stands_at_the_slot(world, driver):
    instance = deployed(world, driver)
    disk = instance.disks.order_by("pk")[0]
    sent = {
        "devices.sda": f"disk_id:{disk.pk}",
        "devices.sdb": f"disk_id:{disk.pk}",
        "devices.sdc": "volume_id:999999",
        "devices.sdd": "disk_id:x",
    }
    answer = owner_of(world).post(page_of(instance, "rescue"), sent)
    assert problems(answer, "devices.sdb") == "The slot sda already has it."
    assert problems(answer, "devices.sdc") == "/dev/sdc is not valid"
    assert problems(answer, "devices.sdd") == "/dev/sdd is not valid"
    assert not Config.objects.filter(rescue=True).exists()


def test_the_page_says_when_it_leaves_out_volumes(world, driver, monkeypatch):
    browser, instance = owner_of(world), deployed(world, driver)
    monkeypatch.setattr(choices, "MAX_CHOICES", 1)
    for label, says in (("data-1", False), ("data-2", True)):
        VolumeFactory(account=world.account, region=world.region, label=label)
        page = text_of(browser.get(page_of(instance, "rescue")))
        assert (choices.MORE_VOLUMES in page) == says
        assert "data-2" not in page


def test_volumes_of_others_are_not_offered(world, driver):
    instance = deployed(world, driver)
    VolumeFactory(label="theirs", region=world.region)
    assert "theirs" not in text_of(owner_of(world).get(page_of(instance, "rescue")))
