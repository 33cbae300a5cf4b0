"""Images that a region's hosts cannot deploy are refused before anything is created or lost."""

import pytest

from accounts.models import Account
from compute.models import Address, Host, Image, Instance
from tests.client import errors, wrong_fields
from tests.compute.worker.scenarios import deployed
from tests.factories import HostFactory, ImageFactory
from tests.world import STRONG

pytestmark = pytest.mark.django_db

INSTANCES = "/v4/compute/instances"
NOT_THERE = {"image": "This image cannot be deployed in this region."}


@pytest.fixture
def off(world, driver) -> Instance:
    return deployed(world, driver, running=False, label="older")


@pytest.fixture
def archived(account: Account) -> Image:
    """Create an image of the account that only another driver has."""
    return ImageFactory(
        id="private/77", number=77, account=account, is_public=False, label="Mine", size=900, driver="qemu"
    )


def create(api, **body):
    given = {"type": "g6-test-2", "region": "us-test", "image": "compute/test11", "root_pass": STRONG}
    return api.post(INSTANCES, {**given, **body})


@pytest.mark.parametrize("images", [[], ["compute/other12"]])
def test_a_create_names_the_image(api, world, images):
    Host.objects.update(images=images)
    answer = create(api)
    assert (answer.status_code, errors(answer)) == (400, NOT_THERE)
    assert not Instance.objects.exists()


@pytest.mark.parametrize("model", [Host, Address])
def test_a_region_without_a_host_or_addresses_is_the_only_field_that_is_named(api, world, model):
    model.objects.all().delete()
    answer = create(api)
    assert wrong_fields(answer) == ["region"]
    assert not Instance.objects.exists()


def test_a_region_without_a_host_is_named_with_fields_that_do_not_depend_on_it(api, world):
    Host.objects.all().delete()
    assert wrong_fields(create(api, root_pass=None)) == ["region", "root_pass"]


def test_a_create_goes_to_the_host_that_has_the_image(api, world):
    Host.objects.update(images=["compute/other12"])
    second = HostFactory(region=world.region, images=["compute/test11"], memory=6000)
    made = create(api).json()
    assert Instance.objects.get(pk=made["id"]).host == second


def test_a_create_without_an_image_needs_none(api, world):
    Host.objects.update(images=[])
    answer = api.post(INSTANCES, {"type": "g6-test-2", "region": "us-test"})
    assert answer.status_code == 200


def test_an_image_of_another_driver_is_refused_and_one_of_this_driver_is_not(api, archived):
    answer = create(api, image=archived.pk)
    assert (answer.status_code, errors(answer)) == (400, NOT_THERE)
    Image.objects.filter(pk=archived.pk).update(driver="simulated")
    assert create(api, image=archived.pk).status_code == 200


@pytest.mark.parametrize("call", ["rebuild", "disks"])
def test_an_instance_is_on_one_host(api, world, off, archived, call):
    ImageFactory(id="compute/other12", label="Other 12")
    HostFactory(region=world.region, images=None)
    Host.objects.filter(pk=off.host_id).update(images=["compute/test11"])
    size = {"size": 2000, "label": "more"} if call == "disks" else {}
    for image in ("compute/other12", archived.pk):
        answer = api.post(f"{INSTANCES}/{off.pk}/{call}", {"image": image, "root_pass": STRONG, **size})
        assert (answer.status_code, errors(answer)["image"]) == (400, NOT_THERE["image"])
    assert off.disks.count() == 2
    assert not off.jobs.filter(finished_at=None).exists()
