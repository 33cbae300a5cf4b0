"""The ids in examples, on an installation whose catalogue differs from the seeded one."""

import pytest

from compute.models import Host, Image, InstanceType
from compute.services.catalogue.examples import installed_ids
from regions.models import Region
from tests.factories import HostFactory, ImageFactory, InstanceTypeFactory, KernelFactory, RegionFactory
from tests.world import CAPABILITIES, make_catalogue_world

pytestmark = pytest.mark.django_db
SENT = frozenset({"us-east", "g6-nanode-1", "g6-standard-2", "compute/debian11", "web"})
ANSWERED = frozenset({"us-east", "ap-west", "g5-nanode-1", "compute/almalinux8", "compute/latest-2.6", "web"})


@pytest.fixture
def catalogue() -> None:
    make_catalogue_world()


@pytest.fixture
def own(db) -> None:
    """An installation with a small catalogue of its own."""
    HostFactory(region=RegionFactory(id="no-osl", capabilities=[*CAPABILITIES, "NodeBalancers"], position=2))
    HostFactory(region=RegionFactory(id="se-sto", position=1))
    RegionFactory(id="without-hosts", position=0)
    InstanceTypeFactory(id="large", position=2)
    InstanceTypeFactory(id="small", position=1)
    InstanceTypeFactory(id="old", position=0, deprecated=True)
    ImageFactory(id="compute/debian12")
    KernelFactory(id="compute/own")


@pytest.mark.usefixtures("catalogue")
class TestOfTheSeededCatalogue:
    def test_nothing_is_replaced(self):
        assert installed_ids(SENT, ANSWERED) == {}

    def test_a_region_that_takes_nothing_new_is_replaced(self):
        HostFactory(region=Region.objects.get(pk="eu-west"))
        for change in ({"retired": True}, {"retired": False, "capabilities": ["Vlans"]}):
            Region.objects.filter(pk="us-east").update(**change)
            assert installed_ids(SENT, ANSWERED) == {"us-east": "eu-west"}

    def test_a_region_without_a_host_that_takes_instances_is_replaced(self):
        HostFactory(region=Region.objects.get(pk="eu-west"))
        Host.objects.filter(region="us-east").update(enabled=False)
        assert installed_ids(SENT, ANSWERED) == {"us-east": "eu-west"}

    def test_two_types_that_are_not_sold_become_two_others(self):
        InstanceType.objects.filter(pk__in=SENT).update(deprecated=True)
        assert installed_ids(SENT, ANSWERED) == {"g6-nanode-1": "g6-standard-1", "g6-standard-2": "g6-standard-4"}

    def test_an_image_that_no_host_of_the_region_deploys_is_replaced(self):
        Host.objects.filter(region="us-east").update(images=["compute/arch", "compute/gone"])
        assert installed_ids(SENT, ANSWERED) == {"compute/debian11": "compute/arch"}

    def test_an_image_that_is_not_available_replaces_none(self):
        Image.objects.exclude(pk="compute/arch").update(deprecated=True)
        ImageFactory(id="compute/aaa", position=0, status=Image.Status.CREATING)
        assert installed_ids(SENT, ANSWERED) == {"compute/debian11": "compute/arch"}


@pytest.mark.usefixtures("own")
class TestOfAnother:
    def test_all_ids_are_its_own_and_the_region_has_the_needed_capabilities(self):
        assert installed_ids(SENT, ANSWERED) == {
            "us-east": "no-osl",
            "ap-west": "se-sto",
            "g6-nanode-1": "small",
            "g6-standard-2": "large",
            "g5-nanode-1": "small",
            "compute/debian11": "compute/debian12",
            "compute/almalinux8": "compute/debian12",
            "compute/latest-2.6": "compute/own",
        }

    def test_the_number_of_queries_is_fixed(self, django_assert_max_num_queries):
        with django_assert_max_num_queries(13):
            installed_ids(SENT, ANSWERED)


def test_an_empty_installation_replaces_nothing():
    assert installed_ids(SENT, ANSWERED) == {}
