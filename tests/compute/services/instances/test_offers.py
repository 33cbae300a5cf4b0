"""Regions, images and types that are available for a new instance, and those that are suggested."""

import pytest

from accounts.actors import Actor
from accounts.pages.base import with_grants
from compute.models import Host, Image
from compute.services.hosts.deployable import NOT_THERE
from compute.services.hosts.placement import REGION_FULL
from compute.services.instances.offers import Offers, Wanted, find_offers
from regions.models import RETIRED
from tests.factories import GrantFactory, HostFactory, ImageFactory, InstanceTypeFactory, RegionFactory, UserFactory
from tests.world import World

pytestmark = pytest.mark.django_db


def reasons(offers) -> dict[str, str]:
    return {offer.item.pk: offer.reason for offer in offers}


def suggested(world: World, **wanted) -> Offers:
    return find_offers(world.actor, Wanted(**wanted), suggest=True)


def chosen(offers: Offers) -> tuple[str | None, ...]:
    return tuple(each and each.pk for each in (offers.region, offers.image, offers.type))


def test_regions_say_why_they_take_nothing(world):
    for name, fields in {
        "retired": {"retired": True},
        "bare": {"capabilities": ["Block Storage"]},
        "empty": {},
        "full": {},
    }.items():
        RegionFactory(id=name, **fields)
    HostFactory(region_id="full", memory=1024)
    assert reasons(find_offers(world.actor, Wanted()).regions) == {
        "us-test": "",
        "retired": RETIRED,
        "bare": "This region does not offer Computes.",
        "empty": REGION_FULL,
        "full": REGION_FULL,
    }


def test_types_say_why_the_region_does_not_take_them(world):
    InstanceTypeFactory(id="gpu", type_class="gpu")
    InstanceTypeFactory(id="large", memory=world.host.memory + 1)
    InstanceTypeFactory(id="old", deprecated=True)
    assert reasons(find_offers(world.actor, Wanted(region="us-test")).types) == {
        "g6-test-2": "",
        "gpu": "This region does not offer GPU Computes.",
        "large": REGION_FULL,
    }
    assert set(reasons(find_offers(world.actor, Wanted()).types).values()) == {""}


def test_types_say_that_the_image_is_too_large(world):
    InstanceTypeFactory(id="small", disk=1500)
    wanted = Wanted(image=world.image.pk)
    reason = "The image (1300 MB) and 512 MB of swap need more disk space than this type has."
    assert reasons(find_offers(world.actor, wanted).types) == {"g6-test-2": "", "small": reason}
    assert find_offers(world.actor, Wanted(image=world.image.pk, swap_size=200, type="small")).type
    assert find_offers(world.actor, Wanted(image=world.image.pk, type="small")).type is None


def test_images_say_why_the_region_cannot_deploy_them(world):
    other = ImageFactory()
    Host.objects.update(images=[world.image.pk])
    offers = find_offers(world.actor, Wanted(region="us-test", image=other.pk))
    assert reasons(offers.images) == {world.image.pk: "", other.pk: NOT_THERE}
    assert offers.image is None
    assert find_offers(world.actor, Wanted(image=other.pk)).image == other


def test_own_images_come_first_and_only_ready_ones_are_available(world):
    own = {"account": world.account, "is_public": False}
    ready = ImageFactory(id="private/1", number=1, **own)
    made = ImageFactory(id="private/2", number=2, status=Image.Status.CREATING, **own)
    offers = find_offers(world.actor, Wanted())
    assert [offer.item for offer in offers.images] == [ready, made, world.image]
    assert reasons(offers.images)[made.pk] == "This image is not ready: its status is creating."


def test_restricted_users_are_offered_the_images_of_their_grants(world):
    user = UserFactory(account=world.account, restricted=True)
    for number in (1, 2):
        ImageFactory(id=f"private/{number}", number=number, account=world.account, is_public=False)
    GrantFactory(user=user, entity_type="image", entity_id=2)
    offers = find_offers(with_grants(user), Wanted())
    assert list(reasons(offers.images)) == ["private/2", world.image.pk]


def test_the_newest_long_term_release_and_the_cheapest_type_are_suggested(world):
    InstanceTypeFactory(id="cheap", price_monthly=2, position=2000)
    for number, label in enumerate(("Debian 9", "Debian 11", "Kubernetes 1 on Debian 12", "Ubuntu 22.04 LTS")):
        ImageFactory(id=f"compute/{number}", label=label)
    ImageFactory(id="compute/old", label="Debian 13", deprecated=True)
    assert chosen(suggested(world)) == ("us-test", "compute/1", "cheap")


def test_the_first_image_is_suggested_where_none_is_a_long_term_release(world):
    assert chosen(suggested(world)) == ("us-test", world.image.pk, world.type.pk)


def test_the_choices_of_the_last_instance_are_suggested_again(world):
    InstanceTypeFactory(id="cheap", price_monthly=2)
    ImageFactory(label="Debian 11")
    RegionFactory(id="a-first")
    HostFactory(region_id="a-first")
    assert suggested(world).region.pk == "a-first"
    world.create()
    assert chosen(suggested(world)) == ("us-test", world.image.pk, world.type.pk)


def test_suggestions_are_available_where_the_last_choices_are_not(world):
    world.create()
    InstanceTypeFactory(id="dear", price_monthly=50)
    RegionFactory(id="other")
    HostFactory(region_id="other", images=["compute/another"])
    ImageFactory(id="compute/another")
    world.region.retired = True
    world.region.save()
    world.type.deprecated = True
    world.type.save()
    assert chosen(suggested(world)) == ("other", "compute/another", "dear")


def test_a_wanted_type_suggests_a_region_that_takes_it(world):
    InstanceTypeFactory(id="gpu", type_class="gpu")
    RegionFactory(id="with-gpu", capabilities=["Computes", "GPU Computes"])
    HostFactory(region_id="with-gpu")
    assert chosen(suggested(world, type="gpu")) == ("with-gpu", world.image.pk, "gpu")


def test_a_wanted_choice_that_is_unavailable_is_not_replaced(world):
    InstanceTypeFactory(id="gpu", type_class="gpu")
    assert chosen(suggested(world, region="us-test", type="gpu")) == ("us-test", world.image.pk, None)
    assert chosen(suggested(world, image="compute/none")) == ("us-test", None, world.type.pk)


def test_a_platform_without_regions_types_and_images_offers_nothing(account):
    assert chosen(find_offers(Actor.platform(account.pk), Wanted(), suggest=True)) == (None, None, None)


def test_the_number_of_queries_is_fixed(world, django_assert_num_queries):
    for number in range(2):
        with django_assert_num_queries(7):
            suggested(world)
        RegionFactory(id=f"more{number}")
        ImageFactory()
        InstanceTypeFactory(id=f"more{number}")
