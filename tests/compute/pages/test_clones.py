"""Clones in a browser."""

import pytest

from accounts.models import Event
from compute.models import Instance
from compute.serializers.instances import WRONG_LABEL
from compute.services.hosts.placement import REGION_FULL
from tests.accounts.pages.browsers import problems
from tests.compute.pages.visiting import last_event, owner_of, page_of, restricted_at, text_of
from tests.compute.worker.scenarios import deployed
from tests.factories import AddressPoolFactory, HostFactory, InstanceTypeFactory, RegionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def source(world, driver) -> Instance:
    return deployed(world, driver, label="web-1", group="shop")


def new(source: Instance, **fields) -> dict:
    """Return the fields of a clone into a new instance, as the page offers it."""
    configs = list(source.configs.values_list("pk", flat=True))
    offered = {"label": "web-2", "region": source.region_id, "type": source.type_id, "configs": configs}
    return {"compute_id": "", **offered, **fields}


def test_an_instance_is_cloned_into_a_new_one(world, source):
    answer = owner_of(world).post(page_of(source, "clone"), new(source, group="test"))
    target = Instance.objects.get(label="web-2")
    assert answer["Location"] == page_of(target)
    assert (target.status, target.group) == ("provisioning", "test")
    assert (target.configs.count(), target.disks.count()) == (1, 2)
    assert last_event(source) == "compute_clone"


def test_the_new_instance_shows_the_progress_of_the_clone(world, source):
    browser = owner_of(world)
    browser.post(page_of(source, "clone"), new(source))
    target = Instance.objects.get(label="web-2")
    Event.objects.filter(action="compute_clone", entity_id=source.pk).update(percent_complete=40)
    head = text_of(browser.get(page_of(target, "state")))
    assert "An instance is cloned." in head
    assert "40 %" in head
    rows = text_of(browser.get(f"/home/instances/states?id={source.pk}&id={target.pk}"))
    assert rows.count("40 %") == 2


def test_types_are_offered_with_their_prices(world, source):
    InstanceTypeFactory(id="small", label="Small", price_monthly=2.5)
    page = text_of(owner_of(world).get(page_of(source, "clone")))
    assert '<option value="small">Small, $2.50 a month</option>' in page


def test_an_instance_is_cloned_into_another(world, driver, source):
    target = deployed(world, driver, image=None)
    disk = source.disks.order_by("pk")[0]
    source.disks.update(size=100)
    browser = owner_of(world)
    assert f'value="{target.pk}">{target.label}' in text_of(browser.get(page_of(source, "clone")))
    answer = browser.post(page_of(source, "clone"), new(source, compute_id=target.pk, configs=[], disks=[disk.pk]))
    assert answer["Location"] == page_of(target)
    assert (target.configs.count(), target.disks.count()) == (0, 1)


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"label": "web-1"}, "label", "Label must be unique among your instances"),
        ({"label": "-"}, "label", WRONG_LABEL.replace("label", '"Label of the new instance"', 1)),
        ({"region": "none"}, "region", '"Region of the new instance" is not valid'),
        ({"type": "none"}, "type", "A valid plan type by that ID was not found"),
        ({"compute_id": "999999999"}, "compute_id", '"Clone into" is not valid'),
        ({"disks": ["999999999"]}, "disks", '"999999999" is not valid'),
    ],
)
def test_reasons_stand_at_their_fields(world, source, fields, field, reason):
    answer = owner_of(world).post(page_of(source, "clone"), new(source, **fields))
    assert problems(answer, field) == reason
    assert not Instance.objects.filter(label="web-2").exists()


def test_regions_that_take_nothing_are_disabled_with_the_reason(world, source):
    RegionFactory(id="us-old", retired=True)
    page = text_of(owner_of(world).get(page_of(source, "clone")))
    assert '<option value="us-old" disabled>us-old (United States): This region is retired' in page


def test_full_regions_are_disabled_with_the_reason(world, source):
    RegionFactory(id="us-small")
    AddressPoolFactory(region_id="us-small", addresses=1)
    HostFactory(region_id="us-small", memory=512)
    RegionFactory(id="us-other")
    HostFactory(region_id="us-other", driver="qemu")  # a copy needs a host like the source's
    browser, full = owner_of(world), '<option value="{}" disabled>{} (United States): ' + REGION_FULL
    for page in ("clone", "migrate"):
        shown = text_of(browser.get(page_of(source, page)))
        assert full.format("us-small", "us-small") in shown
        assert full.format("us-other", "us-other") in shown
    answer = browser.post(page_of(source, "clone"), new(source, region="us-small"))
    assert problems(answer, "region") == REGION_FULL
    InstanceTypeFactory(id="tiny", memory=512)
    assert full.format("us-small", "us-small") not in text_of(browser.get(page_of(source, "clone")))
    assert full.format("us-small", "us-small") in text_of(browser.get(page_of(source, "migrate")))


def test_readers_who_may_create_instances_may_clone(source):
    reader = restricted_at(source, add_computes=True)
    assert ">Clone</a>" in text_of(reader.get(page_of(source)))
    assert reader.post(page_of(source, "clone"), new(source)).status_code == 302
    assert Instance.objects.filter(label="web-2").exists()


def test_writers_who_may_not_create_instances_may_not_clone(source):
    writer = restricted_at(source, "read_write")
    assert ">Clone</a>" not in text_of(writer.get(page_of(source)))
    assert writer.post(page_of(source, "clone"), new(source)).status_code == 403


def test_several_clones_may_run_at_once(world, source):
    browser = owner_of(world)
    browser.post(page_of(source, "clone"), new(source))
    assert "Another job runs on the instance. Try again later." not in text_of(
        browser.get(page_of(source, "clone"))
    )
    browser.post(page_of(source, "clone"), new(source, label="web-3"))
    assert Instance.objects.filter(label="web-3").exists()
