"""The seeded catalogue: what a fresh installation offers, over HTTP and in its pools."""

import io
import json
from importlib import import_module
from ipaddress import ip_address, ip_network

import pytest
from django.apps import apps
from django.core.management import call_command

from compute.models import Address, AddressPool, Host, Image, InstanceType, Kernel, SeededRow
from compute.services.networking.pools import fill_pool
from compute.services.seed import CATALOGUE, _networks, seed
from regions.models import Region

DATA = json.loads(CATALOGUE.read_text())


@pytest.fixture
def small(monkeypatch):
    """The whole catalogue with pools that are quick to fill."""
    monkeypatch.setattr("compute.services.seed.PUBLIC", list(ip_network("198.18.0.0/23").subnets(new_prefix=28)))
    monkeypatch.setattr("compute.services.seed.PRIVATE_PREFIX", 28)


@pytest.fixture
def seeded(small, db):
    return seed(demo=True)


def test_everything_of_the_catalogue_is_there(seeded, client):
    for path, name in (
        ("/v4/regions", "regions"),
        ("/v4/compute/types", "types"),
        ("/v4/compute/kernels", "kernels"),
        ("/v4/images", "images"),
    ):
        listed = client.get(f"{path}?page_size=500").json()["data"]
        assert {item["id"] for item in listed} == {item["id"] for item in DATA[name]}


def test_a_type_has_prices_and_what_its_backups_cost(seeded, client):
    assert client.get("/v4/compute/types/g6-nanode-1").json() == {
        "id": "g6-nanode-1",
        "label": "Nanode 1GB",
        "class": "nanode",
        "memory": 1024,
        "disk": 25600,
        "vcpus": 1,
        "gpus": 0,
        "transfer": 1000,
        "network_out": 1000,
        "price": {"hourly": 0.0075, "monthly": 5.0},
        "addons": {"backups": {"price": {"hourly": 0.003, "monthly": 2.0}}},
        "successor": None,
    }
    assert client.get("/v4/compute/types/g5-standard-6").json()["successor"] == "g6-standard-6"


def test_a_kernel_is_reached_by_an_id_with_a_slash(seeded, client):
    kernel = client.get("/v4/compute/kernels/compute%2Flatest-64bit").json()
    assert kernel["id"] == "compute/latest-64bit"
    assert kernel["architecture"] == "x86_64"


def test_an_image_shows_all_its_fields(seeded, client):
    assert client.get("/v4/images/compute/debian11").json() == {
        "id": "compute/debian11",
        "label": "Debian 11",
        "description": None,
        "vendor": "Debian",
        "size": 1300,
        "type": "manual",
        "status": "available",
        "is_public": True,
        "deprecated": False,
        "created": "2018-01-02T03:04:05",
        "updated": "2018-01-02T03:04:05",
        "created_by": None,
        "expiry": None,
        "eol": "2018-01-02T03:04:05",
    }


def test_seeding_again_adds_nothing_and_keeps_what_staff_changed(seeded):
    Region.objects.filter(pk="us-east").update(status="outage")
    addresses = Address.objects.count()
    assert not any(seed(demo=True).values())
    assert Region.objects.get(pk="us-east").status == "outage"
    assert Address.objects.count() == addresses


def test_without_demo_there_are_no_places(db):
    added = {name for name, count in seed().items() if count}
    assert added == {"instance types", "kernels", "images"}
    assert not Region.objects.exists()


def test_places_may_come_later(small, db):
    seed()
    assert {name for name, count in seed(demo=True).items() if count} == {"regions", "hosts", "address pools"}


@pytest.mark.parametrize("update", [False, True])
def test_what_was_deleted_stays_deleted(seeded, update):
    gone = [
        Host.objects.filter(region="us-east"),
        AddressPool.objects.filter(region="us-west"),
        InstanceType.objects.filter(pk__in=("g6-nanode-1", "g6-standard-6")),
        Image.objects.filter(pk="compute/debian11"),
        Kernel.objects.filter(pk="compute/latest-64bit"),
    ]
    for rows in gone:
        assert rows.delete()[0]
    assert not any(seed(update, demo=True).values())
    assert not any(rows.exists() for rows in gone)
    assert not Host.objects.filter(region="us-east").exists()


def test_seeding_with_update_resets_what_exists_but_no_retirement(seeded):
    Region.objects.filter(pk="us-east").update(status="outage", retired=True)
    Image.objects.filter(pk="compute/debian11").update(label="Changed")
    seed(update=True)
    assert Image.objects.get(pk="compute/debian11").label == "Debian 11"
    assert Region.objects.get(pk="us-east").status == "outage", "without --demo regions are staff's alone"
    seed(update=True, demo=True)
    region = Region.objects.get(pk="us-east")
    assert (region.status, region.retired) == ("ok", True)


def test_what_staff_made_by_the_same_names_is_left_to_them(small, db):
    """Their region gets neither hosts beside theirs, nor a pool over their addresses."""
    region = Region.objects.create(id="us-east", country="no", capabilities=["Computes"])
    Host.objects.create(label="metal-1", region=region)
    AddressPool.objects.create(region=region, kind="public", network="198.18.0.0/24", gateway="198.18.0.1")
    seed(demo=True)
    assert Region.objects.get(pk="us-east").country == "no"
    assert [host.label for host in Host.objects.filter(region=region)] == ["metal-1"]
    networks = [ip_network(network) for network in AddressPool.objects.values_list("network", flat=True)]
    assert sum(network.overlaps(ip_network("198.18.0.0/24")) for network in networks if network.version == 4) == 1


def test_a_label_that_staff_gave_a_host_elsewhere_is_left_to_it(small, db):
    region = Region.objects.create(id="no-osl", country="no", capabilities=["Computes"])
    Host.objects.create(label="us-east-h1", region=region)
    seed(demo=True)
    assert Host.objects.get(label="us-east-h1").region == region
    assert [host.label for host in Host.objects.filter(region="us-east")] == ["us-east-h2"]


def test_a_database_seeded_by_an_earlier_release_keeps_what_was_deleted_deleted(seeded):
    """It has the rows, and no notes of them, until the migration writes those."""
    remember = import_module("compute.migrations.0003_seeded_rows").remember
    noted = set(SeededRow.objects.exclude(kind="pool").values_list("kind", "key"))
    SeededRow.objects.all().delete()
    Host.objects.filter(region="us-east").delete()
    Image.objects.filter(pk="compute/debian11").delete()

    remember(apps, None)

    assert set(SeededRow.objects.exclude(kind="pool").values_list("kind", "key")) == noted
    assert not any(seed(demo=True)[name] for name in ("hosts", "images", "regions"))


def test_the_pools_of_an_earlier_release_are_those_that_the_migration_notes():
    networks = import_module("compute.migrations.0003_seeded_rows").networks
    regions = [Region(id=item["id"]) for item in DATA["regions"]]
    assert set(networks(len(regions))) == {network for _, _, network in _networks(regions)}


def test_a_fresh_database_has_nothing_noted(db):
    import_module("compute.migrations.0003_seeded_rows").remember(apps, None)
    assert not SeededRow.objects.exists()


def test_the_command_says_what_it_added(small, db):
    def said(*arguments: str) -> list[str]:
        out = io.StringIO()
        call_command("seed", *arguments, stdout=out)
        return out.getvalue().splitlines()

    assert said() == ["37 instance types", "40 kernels", "40 images"]
    assert said("--demo") == ["11 regions", "22 hosts", "46 address pools"]
    assert said("--demo", "--update") == ["nothing to add"]


def test_every_region_can_take_an_instance(seeded):
    for region in Region.objects.all():
        assert Host.objects.filter(region=region).exists()
        kinds = set(AddressPool.objects.filter(region=region).values_list("kind", flat=True))
        assert kinds == {"public", "private", "slaac", "routed"}


def test_pools_neither_overlap_nor_hold_the_resolvers(seeded):
    networks = [ip_network(pool.network) for pool in AddressPool.objects.all()]
    for number, network in enumerate(networks):
        others = [other for other in networks[number + 1 :] if other.version == network.version]
        assert not any(network.overlaps(other) for other in others)
    for region in DATA["regions"]:
        for resolver in (region["resolvers"]["ipv4"] + "," + region["resolvers"]["ipv6"]).split(","):
            assert not any(ip_address(resolver) in network for network in networks)


def test_a_pool_is_filled_but_for_network_gateway_and_broadcast(db):
    region = Region.objects.create(id="us-test", country="us")
    pool = AddressPool.objects.create(region=region, kind="public", network="192.0.2.0/29", gateway="192.0.2.3")
    assert fill_pool(pool) == 5
    rows = pool.addresses.values_list("address", "prefix", "gateway", "public")
    assert [row[0] for row in rows] == [f"192.0.2.{n}" for n in (1, 2, 4, 5, 6)]
    assert {row[1:] for row in rows} == {(29, "192.0.2.3", True)}
    assert fill_pool(pool) == 0


def test_a_slaac_pool_has_no_rows(db):
    region = Region.objects.create(id="us-test", country="us")
    pool = AddressPool.objects.create(
        region=region, kind="slaac", network="2001:db8:77::/64", gateway="2001:db8:77::1"
    )
    assert fill_pool(pool) == 0
    assert not Address.objects.exists()
