"""Interfaces of profiles, requested with a profile or with a new instance."""

import pytest

from accounts.models import Event, User
from compute.models import VLAN, Config, Instance
from regions.models import Region
from tests.client import errors
from tests.factories import ConfigFactory, InstanceFactory
from tests.world import STRONG

pytestmark = pytest.mark.django_db

PUBLIC = {"purpose": "public"}


def vlan(label: str = "backend", address: str = "") -> dict:
    return {"purpose": "vlan", "label": label, "ipam_address": address}


@pytest.fixture
def api(client_for, world):
    world.region.capabilities = ["Computes", "Vlans"]
    world.region.save()
    return client_for(User.objects.get(pk=world.actor.user_id))


@pytest.fixture
def instance(world) -> Instance:
    return InstanceFactory(account=world.account, region=world.region, type=world.type, host=world.host)


@pytest.fixture
def config(instance) -> Config:
    return ConfigFactory(instance=instance)


@pytest.fixture(params=["a profile that is made", "a profile that is changed", "a new instance"])
def ask(request, api, world, instance, config):
    """Return a function that requests interfaces in one of these ways. It returns the answer and the profile."""

    def with_profile(interfaces):
        body = {"label": "mine", "devices": {}, "interfaces": interfaces}
        answer = api.post(f"/v4/compute/instances/{instance.pk}/configs", body)
        return answer, Config.objects.filter(label="mine").first()

    def with_change(interfaces):
        answer = api.put(f"/v4/compute/instances/{instance.pk}/configs/{config.pk}", {"interfaces": interfaces})
        return answer, Config.objects.get(pk=config.pk)

    def with_instance(interfaces):
        body = {
            "region": world.region.pk,
            "type": world.type.pk,
            "image": world.image.pk,
            "root_pass": STRONG,
            "interfaces": interfaces,
        }
        answer = api.post("/v4/compute/instances", body)
        return answer, Config.objects.filter(instance=answer.json().get("id")).first()

    ways = {"made": with_profile, "changed": with_change, "instance": with_instance}
    return ways[request.param.rsplit(" ", 1)[1]]


def test_interfaces_are_kept_in_their_order_with_all_their_keys(ask):
    answer, config = ask([vlan("a", "10.0.0.1/24"), {"purpose": "vlan", "label": "B-2"}, PUBLIC])
    assert answer.status_code == 200, answer.content
    assert config.interfaces == [
        {"purpose": "vlan", "label": "a", "ipam_address": "10.0.0.1/24"},
        {"purpose": "vlan", "label": "B-2", "ipam_address": ""},
        {"purpose": "public", "label": "", "ipam_address": ""},
    ]
    assert set(VLAN.objects.values_list("label", "region")) == {("a", "us-test"), ("B-2", "us-test")}


def test_profiles_are_found_by_the_label_of_any_interface(api, instance, config):
    public = {"purpose": "public", "label": None, "ipam_address": None}
    both = ConfigFactory(instance=instance, interfaces=[public, vlan("front"), vlan("backend")])
    back = ConfigFactory(instance=instance, interfaces=[vlan("backend")])
    path = f"/v4/compute/instances/{instance.pk}/configs"

    def found(x_filter: dict | None = None, query: str = "") -> list[int]:
        answer = api.get(f"{path}{query}", x_filter)
        assert answer.status_code == 200, answer.content
        return [each["id"] for each in answer.json()["data"]]

    for name in ("interfaces", "interfaces.label"):
        assert found({name: "backend"}) == found(query=f"?{name}=backend") == [both.pk, back.pk]
        assert found({name: "front"}) == [both.pk]
        assert found({name: {"+neq": "front"}}) == [config.pk, back.pk]
        assert found({name: {"+contains": "on"}}) == [both.pk]
        assert found({name: {"+or": ["front", "nowhere"]}}) == [both.pk]
        assert found({"+or": [{name: "backend"}, {"id": config.pk}]}) == [config.pk, both.pk, back.pk]
        assert found({name: "vlan"}) == []
        for wrong in (None, 7, ["backend"], {"label": "x"}, {"+gt": "a"}, {}):
            assert set(errors(api.get(path, {name: wrong}))) == {"X-Filter"}


def test_an_empty_array_is_the_default_public_one(ask):
    answer, config = ask([])
    assert answer.status_code == 200
    assert config.interfaces == []


@pytest.mark.parametrize("empty", ["", None])
def test_empty_texts_count_as_not_given(ask, empty):
    answer, config = ask([{"purpose": "public", "label": empty, "ipam_address": empty}])
    assert answer.status_code == 200
    assert config.interfaces == [{"purpose": "public", "label": "", "ipam_address": ""}]


@pytest.mark.parametrize("stored", ["", None])
def test_a_public_interface_has_no_address_which_is_null(api, instance, config, stored):
    """With any stored value. An interface on a VLAN without an address has an empty one."""
    Config.objects.update(interfaces=[{"purpose": "public", "label": "", "ipam_address": stored}, vlan("front")])
    expected = [{"purpose": "public", "label": "", "ipam_address": None}, vlan("front")]
    path = f"/v4/compute/instances/{instance.pk}/configs"
    assert api.get(path).json()["data"][0]["interfaces"] == expected
    assert api.get(f"{path}/{config.pk}").json()["interfaces"] == expected
    made = api.post(path, {"label": "mine", "devices": {}, "interfaces": expected}).json()
    assert made["interfaces"] == expected
    assert api.put(f"{path}/{config.pk}", {"interfaces": expected}).json()["interfaces"] == expected


@pytest.mark.parametrize(
    ("interfaces", "field"),
    [
        ([vlan("a"), vlan("b"), vlan("c"), PUBLIC], "interfaces"),
        ([PUBLIC, PUBLIC], "interfaces"),
        ([{"purpose": "public", "label": "a"}], "interfaces[0].label"),
        ([vlan(), {"purpose": "public", "ipam_address": "10.0.0.1/24"}], "interfaces[1].ipam_address"),
        ([{"label": "a"}], "interfaces[0].purpose"),
        ([{"purpose": "vpc"}], "interfaces[0].purpose"),
        ([{"purpose": "vlan"}], "interfaces[0].label"),
        ([vlan("")], "interfaces[0].label"),
        ([vlan("x" * 65)], "interfaces[0].label"),
        ([vlan("with space")], "interfaces[0].label"),
        ([vlan("under_score")], "interfaces[0].label"),
        ([vlan("ümlaut")], "interfaces[0].label"),
        ([vlan("a\nb")], "interfaces[0].label"),
        ([vlan("a", "10.0.0.1")], "interfaces[0].ipam_address"),
        ([vlan("a", "10.0.0.1/33")], "interfaces[0].ipam_address"),
        ([vlan("a", "10.0.0.1/255.255.255.0")], "interfaces[0].ipam_address"),
        ([vlan("a", "fe80::1%eth0/64")], "interfaces[0].ipam_address"),
        ([vlan("a", "10.0.0/24")], "interfaces[0].ipam_address"),
        ([vlan("a"), vlan("a")], "interfaces[1].label"),
        ([vlan("a", "10.0.0.1/24"), vlan("b", "10.0.0.1/16")], "interfaces[1].ipam_address"),
        ([vlan("a", "fd00::1/64"), vlan("b", "FD00:0::1/64")], "interfaces[1].ipam_address"),
        (["public"], "interfaces[0]"),
        ({"purpose": "public"}, "interfaces"),
        ("public", "interfaces"),
        ([{"purpose": "vlan", "label": 5}], "interfaces[0].label"),
    ],
)
def test_invalid_interfaces_are_refused_at_their_field(ask, interfaces, field):
    answer, _ = ask(interfaces)
    assert list(errors(answer)) == [field]
    assert not VLAN.objects.exists()
    assert not Event.objects.exists()


def test_the_longest_label_and_ipv6_are_accepted(ask):
    answer, config = ask([vlan("x" * 64, "FD00::1/64")])
    assert answer.status_code == 200
    assert config.interfaces[0]["ipam_address"] == "FD00::1/64"


def test_vlans_are_only_in_regions_that_have_them(ask, world):
    world.region.capabilities = ["Computes"]
    world.region.save()
    answer, _ = ask([PUBLIC, vlan()])
    assert errors(answer) == {"interfaces[1].purpose": "This region does not offer VLANs."}


def test_attaching_is_an_event_that_names_the_vlan(ask):
    answer, config = ask([vlan("b"), vlan("a")])
    assert answer.status_code == 200
    events = Event.objects.filter(action="vlan_attach").order_by("pk")
    assert [(event.entity_id, event.secondary_label) for event in events] == [
        (config.instance_id, "a"),
        (config.instance_id, "b"),
    ]


def test_a_boot_gets_the_interfaces(api, world, driver):
    from tests.compute.worker.scenarios import deployed

    instance = deployed(world, driver, interfaces=(vlan("a", "10.0.0.1/24"),))
    number = VLAN.objects.get(label="a").pk
    expected = vlan("a", "10.0.0.1/24") | {"number": number}
    assert driver.machines[f"skerry-{instance.pk}"]["boot"].interfaces == (expected,)


def test_a_boot_gets_the_resolvers_of_its_region(world, driver):
    from tests.compute.worker.scenarios import deployed

    Region.objects.update(resolvers_ipv4="198.18.0.2, 198.18.0.3", resolvers_ipv6="")
    instance = deployed(world, driver)
    assert driver.machines[f"skerry-{instance.pk}"]["boot"].resolvers == ("198.18.0.2", "198.18.0.3")


def test_without_an_image_there_is_no_profile_and_no_vlan_comes_of_it(api, world):
    body = {"region": world.region.pk, "type": world.type.pk, "interfaces": [vlan()]}
    assert api.post("/v4/compute/instances", body).status_code == 200
    assert not VLAN.objects.exists()
    bad = api.post("/v4/compute/instances", {**body, "interfaces": [vlan("_")]})
    assert errors(bad) == {"interfaces[0].label": "label is not valid: letters, digits and - only"}
