"""The seeded catalogue: the offers of a fresh installation, over HTTP, and its pools."""

import io
import json
import subprocess
from importlib import import_module
from ipaddress import ip_address, ip_network

import pytest
from django.apps import apps
from django.core.management import call_command

from compute.models import Address, AddressPool, Host, Image, InstanceType, Kernel, SeededRow, StackScript
from compute.services.networking.pools import fill_pool
from compute.services.seed import CATALOGUE, SCRIPTS, _networks, seed
from regions.models import Region
from tests.factories import InstanceTypeFactory, RegionFactory, StackScriptFactory

DATA = json.loads(CATALOGUE.read_text())


@pytest.fixture
def small(monkeypatch):
    """The whole catalogue, with pools that are quick to fill."""
    monkeypatch.setattr("compute.services.seed.PUBLIC", list(ip_network("198.18.0.0/23").subnets(new_prefix=27)))
    monkeypatch.setattr("compute.services.seed.PUBLIC_PREFIX", 28)
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
        retired = [item["id"] for item in DATA[name] if name == "types" and item["deprecated"]]
        assert len(retired) == (5 if name == "types" else 0)
        assert [item["id"] for item in listed] == [item["id"] for item in DATA[name] if item["id"] not in retired]
        assert [client.get(f"{path}/{each}").json()["id"] for each in retired] == retired


def test_entries_of_staff_come_last_unless_they_have_a_position(seeded, client):
    def first_and_last(path: str) -> tuple[str, str]:
        listed = client.get(f"{path}?page_size=500").json()["data"]
        return listed[0]["id"], listed[-1]["id"]

    RegionFactory(id="aa-new")
    InstanceTypeFactory(id="a-new")
    assert first_and_last("/v4/regions") == ("ap-west", "aa-new")
    assert first_and_last("/v4/compute/types") == ("g6-nanode-1", "a-new")
    InstanceType.objects.filter(pk="a-new").update(position=5)
    seed()
    assert first_and_last("/v4/compute/types") == ("a-new", "g1-metal-c2")


def test_an_update_restores_the_order(seeded, client):
    tables = (Region, InstanceType, Kernel, Image)
    for table in tables:
        table.objects.update(position=7)
    seed(demo=True)
    assert all(table.objects.filter(position=7).exists() for table in tables)
    seed(update=True, demo=True)
    assert not any(table.objects.filter(position=7).exists() for table in tables)
    test_everything_of_the_catalogue_is_there(seeded, client)


def test_entries_seeded_before_positions_existed_are_in_order(seeded, client):
    for table in (Region, InstanceType, Kernel, Image):
        table.objects.update(position=1000)
    for module in ("regions.migrations.0003_position", "compute.migrations.0009_position"):
        import_module(module).order(apps, None)
    test_everything_of_the_catalogue_is_there(seeded, client)


def test_a_type_has_prices_and_the_price_of_its_backups(seeded, client):
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
        "description": "",
        "vendor": "Debian",
        "size": 1300,
        "type": "manual",
        "status": "available",
        "is_public": True,
        "deprecated": False,
        "created": "2018-01-02T03:04:05",
        "updated": "2018-01-02T03:04:05",
        "created_by": "compute",
        "expiry": None,
        "eol": "2018-01-02T03:04:05",
    }


def test_there_are_public_scripts_that_belong_to_no_account(seeded, client, api):
    listed = client.get("/v4/compute/stackscripts").json()["data"]
    assert {script["label"] for script in listed} == {"Secure login", "Docker", "Web server", "PostgreSQL"}
    images = {item["id"] for item in DATA["images"]}
    for script in listed:
        assert (script["username"], script["is_public"], script["mine"]) == ("skerry", True, False)
        assert script["script"].startswith("#!/bin/bash\n")
        assert script["user_defined_fields"]
        assert set(script["images"]) <= images
        path = f"/v4/compute/stackscripts/{script['id']}"
        assert api.get(path).json()["mine"] is False
        assert api.put(path, {"label": "stolen"}).status_code == 403
        assert api.delete(path).status_code == 403


@pytest.mark.parametrize("script", sorted(SCRIPTS.parent.glob("scripts/*")), ids=lambda path: path.name)
def test_a_script_is_one_that_its_shell_reads(script):
    checked = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_an_update_resets_scripts_and_leaves_those_of_accounts(seeded, account):
    own = StackScriptFactory(account=account, label="Docker", script="#!/bin/sh\n# mine\n")
    StackScript.objects.filter(account=None, label="Docker").update(script="#!/bin/sh\n", user_defined_fields=[])
    seed(update=True)
    reset = StackScript.objects.get(account=None, label="Docker")
    assert "apt-get install -qy docker.io" in reset.script
    assert [field["name"] for field in reset.user_defined_fields] == ["compose", "image", "ports"]
    own.refresh_from_db()
    assert own.script == "#!/bin/sh\n# mine\n"


def test_seeding_again_keeps_changes_of_staff(seeded):
    Region.objects.filter(pk="us-east").update(status="outage")
    addresses = Address.objects.count()
    assert not any(seed(demo=True).values())
    assert Region.objects.get(pk="us-east").status == "outage"
    assert Address.objects.count() == addresses


def test_without_demo_there_are_no_places(db):
    added = {name for name, count in seed().items() if count}
    assert added == {"instance types", "kernels", "images", "stack scripts", "resource prices"}
    assert not Region.objects.exists()


def test_places_may_come_later(small, db):
    seed()
    assert {name for name, count in seed(demo=True).items() if count} == {"regions", "hosts", "address pools"}


@pytest.mark.parametrize("update", [False, True])
def test_seeding_does_not_restore_deleted_entries(seeded, update):
    gone = [
        Host.objects.filter(region="us-east"),
        AddressPool.objects.filter(region="us-west"),
        InstanceType.objects.filter(pk__in=("g6-nanode-1", "g6-standard-6")),
        Image.objects.filter(pk="compute/debian11"),
        Kernel.objects.filter(pk="compute/latest-64bit"),
        StackScript.objects.filter(label="Docker"),
    ]
    for rows in gone:
        assert rows.delete()[0]
    assert not any(seed(update, demo=True).values())
    assert not any(rows.exists() for rows in gone)
    assert not Host.objects.filter(region="us-east").exists()


def test_seeding_with_update_resets_rows_but_not_their_retirement(seeded):
    Region.objects.filter(pk="us-east").update(status="outage", retired=True)
    Image.objects.filter(pk="compute/debian11").update(label="Changed")
    seed(update=True)
    assert Image.objects.get(pk="compute/debian11").label == "Debian 11"
    assert Region.objects.get(pk="us-east").status == "outage", "without --demo regions are staff's alone"
    seed(update=True, demo=True)
    region = Region.objects.get(pk="us-east")
    assert (region.status, region.retired) == ("ok", True)


def test_entries_of_staff_with_the_same_names_are_unchanged(small, db):
    """A region that staff made gets no hosts, and no pool that overlaps its addresses."""
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


def test_rows_deleted_before_the_upgrade_are_not_seeded_again(seeded):
    """Such a database has the rows. Only the migration records that they were seeded."""
    remember = import_module("compute.migrations.0003_seeded_rows").remember
    noted = set(SeededRow.objects.exclude(kind__in=("pool", "script", "price")).values_list("kind", "key"))
    SeededRow.objects.all().delete()
    Host.objects.filter(region="us-east").delete()
    Image.objects.filter(pk="compute/debian11").delete()

    remember(apps, None)

    assert set(SeededRow.objects.exclude(kind__in=("pool", "price")).values_list("kind", "key")) == noted
    assert not any(seed(demo=True)[name] for name in ("hosts", "images", "regions"))


def test_the_pools_of_an_earlier_release_are_those_that_the_migration_notes():
    networks = import_module("compute.migrations.0003_seeded_rows").networks
    regions = [Region(id=item["id"]) for item in DATA["regions"]]
    assert set(networks(len(regions))) == {each.earlier or each.network for each in _networks(regions)}


def test_private_addresses_begin_with_192_168_in_a_21_for_each_region_and_public_pools_are_24s(db):
    pools = list(_networks([Region(id=item["id"]) for item in DATA["regions"]]))
    private = [each.network for each in pools if each.kind == "private"]
    assert len(private) == len(DATA["regions"]) == 11
    assert {network.prefixlen for network in private} == {21}
    assert all(network.subnet_of(ip_network("192.168.128.0/17")) for network in private)
    assert {each.network.prefixlen for each in pools if each.kind == "public"} == {24}


def test_the_private_network_is_a_setting(small, db, settings):
    settings.PRIVATE_NETWORK = ip_network("10.64.0.0/12")
    seed(demo=True)
    networks = AddressPool.objects.filter(kind="private").values_list("network", flat=True)
    assert all(ip_network(network).subnet_of(ip_network("10.64.0.0/12")) for network in networks)


def test_a_region_keeps_its_private_pool_after_a_new_setting(seeded, settings):
    before = set(AddressPool.objects.values_list("network", flat=True))
    settings.PRIVATE_NETWORK = ip_network("10.64.0.0/12")
    assert not any(seed(demo=True).values())
    assert set(AddressPool.objects.values_list("network", flat=True)) == before


def test_the_pools_that_an_earlier_release_seeded_stay_and_no_others_come(small, db):
    """Pools that staff have deleted since are not added again either."""
    regions = [Region(id=item["id"]) for item in DATA["regions"]]
    earlier = {str(each.earlier or each.network) for each in _networks(regions)}
    SeededRow.objects.bulk_create(SeededRow(kind="pool", key=network) for network in earlier)
    seed(demo=True)
    assert not AddressPool.objects.exists()


def test_a_fresh_database_has_nothing_noted(db):
    import_module("compute.migrations.0003_seeded_rows").remember(apps, None)
    assert not SeededRow.objects.exists()


def test_the_command_prints_the_added_rows(small, db):
    def seed(*arguments: str) -> list[str]:
        out = io.StringIO()
        call_command("seed", *arguments, stdout=out)
        return out.getvalue().splitlines()

    assert seed() == ["37 instance types", "40 kernels", "40 images", "4 stack scripts", "6 resource prices"]
    assert seed("--demo") == ["11 regions", "22 hosts", "57 address pools"]
    assert seed("--demo", "--update") == ["nothing to add"]


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
