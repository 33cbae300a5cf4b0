"""Applying a catalogue file to existing rows: add, change, retire, remove. A refused file changes nothing."""

import io
import json

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from compute.models import Address, AddressPool, Host, Image, Instance, InstanceType, IPv6Range, Kernel, SeededRow
from compute.services.catalogue import applying
from compute.services.catalogue.reading import read
from compute.services.instances.resize import resize
from compute.services.seed import CATALOGUE, seed
from config.errors import Invalid
from regions.models import Region
from tests.compute.services.catalogue.files import apply, exported, refusals
from tests.factories import InstanceTypeFactory, RegionFactory, StaffFactory

pytestmark = pytest.mark.django_db
ALL = ("regions", "types", "kernels", "images", "pools", "hosts", "prices", "trust_levels")


def ids(client, path: str) -> list[str]:
    return [each["id"] for each in client.get(f"{path}?page_size=500").json()["data"]]


def test_an_exported_file_changes_nothing_at_any_positions(world):
    seed()
    RegionFactory(id="aa-new")
    InstanceTypeFactory(id="a-new", position=5)
    world.create()
    before = [list(model.objects.order_by("pk").values()) for model in (Region, InstanceType, Kernel, Image, Host)]
    assert apply(exported(*ALL)) == []
    assert not LogEntry.objects.exists()
    after = [list(model.objects.order_by("pk").values()) for model in (Region, InstanceType, Kernel, Image, Host)]
    assert before == after


def test_lists_have_the_order_of_the_file(world, client):
    seed()
    file = exported("types")
    file["types"].reverse()
    names = [each["id"] for each in file["types"] if not each.get("deprecated")]
    apply(file)
    assert ids(client, "/v4/compute/types") == names
    assert "catalogue: order" in LogEntry.objects.get().change_message
    first = {**file["types"][-1], "id": "mine", "label": "Mine", "successor": None}
    assert apply({"types": [first, *file["types"]]}) == ["add types.mine"]
    assert ids(client, "/v4/compute/types") == ["mine", *names]


def test_entries_gone_from_the_file_are_retired_if_used_or_else_removed(world, client):
    InstanceTypeFactory(id="unused", position=1)
    Image.objects.create(id="compute/unused", label="x", is_public=True, created=world.image.created)
    Kernel.objects.create(id="compute/unused", label="x", version="1", architecture="x86_64")
    world.create()
    mine = {"id": "compute/mine", "label": "Mine"}
    plan = {
        "id": "mine", "label": "Mine", "memory": "1 GB", "disk": "10 GB", "vcpus": 1, "transfer": 1,
        "network_out": 1, "price": {"hourly": 0, "monthly": 0},
    }  # fmt: skip
    done = apply({
        "types": [plan], "images": [{**mine, "size": 1}], "kernels": [{**mine, "version": "1"}], "hosts": [],
        "regions": [],
    })  # fmt: skip
    assert done == [
        "retire regions.us-test", "add types.mine", "remove types.unused", "retire types.g6-test-2",
        "add kernels.compute/mine", "retire kernels.compute/grub2", "retire kernels.compute/latest-64bit",
        "remove kernels.compute/unused", "add images.compute/mine", "retire images.compute/test11",
        "remove images.compute/unused", "retire hosts.us-test-h1",
    ]  # fmt: skip
    assert Region.objects.get().retired
    assert not Host.objects.get().enabled
    assert ids(client, "/v4/compute/types") == ["mine"], "a retired type is listed no more"
    assert client.get("/v4/compute/types/g6-test-2").status_code == 200, "who has it still finds it"
    assert Instance.objects.get().type.deprecated
    assert LogEntry.objects.count() == len(done)
    assert "1 compute has it" in LogEntry.objects.get(object_id="g6-test-2").change_message


def test_a_file_applied_before_seed_has_the_kernels_that_the_platform_names(db):
    mine = {"id": "compute/mine", "label": "Mine", "version": "1"}
    assert refusals({"kernels": [mine]}) == [
        "kernels.compute/latest-64bit: Add it to the file, or run `manage.py seed` first: "
        "configuration profiles have it by default.",
        "kernels.compute/grub2: Add it to the file, or run `manage.py seed` first: "
        "what is deployed from an image boots with it.",
    ]  # fmt: skip
    named = [{**mine, "id": name} for name in ("compute/latest-64bit", "compute/grub2")]
    assert apply({"kernels": named}) == ["add kernels.compute/latest-64bit", "add kernels.compute/grub2"]
    assert apply({"kernels": [mine, *named]}) == ["add kernels.compute/mine"]


def test_a_type_that_a_job_needs_or_that_somebody_upgrades_to_stays(world):
    bigger = InstanceTypeFactory(id="bigger", memory=4096, disk=25600)
    upgrade = InstanceTypeFactory(id="upgrade", successor=InstanceTypeFactory(id="and-then"))
    InstanceType.objects.filter(pk=world.type.pk).update(successor=upgrade)
    InstanceTypeFactory(id="unused", successor=upgrade)
    instance = world.offline()
    resize(world.actor, instance, bigger.pk)
    Instance.objects.update(type=world.type)  # as during a move, until its last step
    assert sorted(apply({"types": []})) == [
        "remove types.unused", "retire types.and-then", "retire types.bigger", "retire types.g6-test-2",
        "retire types.upgrade",
    ]  # fmt: skip


def test_images_of_customers_are_none_of_the_files(world):
    Image.objects.create(
        id="private/7", number=7, account=world.account, label="theirs", created=world.image.created
    )
    assert apply({"images": []}) == ["remove images.compute/test11"]
    assert Image.objects.get().pk == "private/7"


def test_a_section_that_the_file_does_not_have_is_left_alone(world):
    before = list(InstanceType.objects.values())
    assert apply({"hosts": exported("hosts")["hosts"]}) == []
    assert list(InstanceType.objects.values()) == before


def test_all_errors_are_reported_together_and_nothing_is_changed(world):
    world.create()
    file = exported(*ALL)
    file["regions"].append({"id": "no-osl", "country": "no", "capabilities": ["Copmutes"]})
    file["types"][0] |= {"memory": 4096, "successor": "nowhere", "label": "Changed"}
    file["images"][0]["size"] = 1
    del file["pools"][1]
    file["pools"][0]["gateway"] = "10.0.0.9"
    file["pools"] += [
        {"network": "10.0.0.128/25", "region": "nowhere", "kind": "private", "gateway": "10.0.0.129"},
        {"network": "2001:db8::/56", "region": "us-test", "kind": "slaac", "gateway": "fe80::1"},
    ]
    file["hosts"][0]["memory"] = 1024
    file["hosts"] += [
        {"label": "hv1", "region": "us-test", "memory": 1, "vcpus": 1, "disk": 1},
        {"label": "hv2", "region": "nowhere", "driver": "simulated", "memory": 1, "vcpus": 1, "disk": 1},
        {"label": "hv3", "region": "us-test", "driver": "none", "memory": 1, "vcpus": 1, "disk": 1},
    ]
    lines = refusals(file)
    assert [line.partition(": ")[0] for line in lines] == [
        "regions.no-osl.capabilities", "types.g6-test-2.successor", "types.g6-test-2.memory",
        "images.compute/test11.size",
        "pools.10.0.0.128/25.region", "pools.2001:db8::/56.network", "pools.10.0.0.128/25.network",
        "pools.10.0.0.0/24.gateway", "pools.198.18.0.0/24",
        "hosts.us-test-h1.memory", "hosts.hv1", "hosts.hv2.region", "hosts.hv3",
    ]  # fmt: skip
    assert "pools.198.18.0.0/24: Cannot be removed: 1 address of it is in use." in lines
    assert "hosts.us-test-h1.memory: Computes use 2048 of it." in lines
    assert (Region.objects.count(), InstanceType.objects.get().label) == (1, "Test 2GB")
    assert not SeededRow.objects.exists()
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("kind", ["slaac", "routed"])
def test_a_pool_of_ipv6_in_use_is_not_removed(world, kind):
    world.create()
    if kind == "routed":
        pool = AddressPool.objects.create(
            region=world.region, kind="routed", network="2001:db8:80::/44", gateway="fe80::1"
        )
        IPv6Range.objects.create(
            pool=pool, region=world.region, account=world.account, range="2001:db8:80::", prefix=64
        )
    file = exported("pools")
    file["pools"] = [each for each in file["pools"] if each["kind"] != kind]
    [line] = refusals(file)
    assert "Cannot be removed: 1 " in line


def test_a_pool_makes_room_for_another_one(world):
    file = exported("pools")
    public = next(each for each in file["pools"] if each["kind"] == "public")
    public |= {"network": "198.18.0.0/25"}
    assert sorted(apply(file)) == ["add pools.198.18.0.0/25", "remove pools.198.18.0.0/24"]
    assert Address.objects.filter(pool__kind="public").count() == 125


def test_hosts_get_the_capacity_that_is_stated_and_their_maintenance(world):
    [host] = exported("hosts")["hosts"]
    apply({"hosts": [{**host, "memory": "64 GB", "maintenance": True}]})
    found = Host.objects.get()
    assert (found.memory, found.maintenance is not None) == (65_536, True)
    assert "maintenance" not in exported("hosts")["hosts"][0]
    assert apply({"hosts": exported("hosts")["hosts"]}) == [], "what a file does not state stays"
    apply({"hosts": [{**host, "maintenance": False}]})
    assert Host.objects.get().maintenance is None


def test_one_driver_serves_a_region(world):
    Host.objects.update(driver="qemu")
    file = exported("hosts")
    assert apply(file) == []
    file["hosts"].append(
        {"label": "b", "region": "us-test", "driver": "simulated", "memory": 1, "vcpus": 1, "disk": 1}
    )
    assert refusals(file) == ["hosts.b.driver: The hosts of a region have one driver, and others have qemu."]


def test_seed_skips_sections_of_files_until_they_are_released(world, client):
    apply({"types": [], "kernels": exported("kernels")["kernels"]})
    before = list(Kernel.objects.values())
    added = seed(update=True, demo=False)
    assert (added["instance types"], added["kernels"]) == (0, 0)
    assert added["images"] > 3
    assert list(Kernel.objects.values()) == before
    call_command("catalogue", "release", "types", stdout=io.StringIO())
    assert seed()["instance types"] == len(json.loads(CATALOGUE.read_text())["types"])


def test_changes_are_logged_with_the_given_user(world):
    StaffFactory(username="ops-1")
    file = exported("types")
    file["types"][0]["price"]["monthly"] = 6
    apply(file, by="ops-1", reason="ticket 7")
    [entry] = LogEntry.objects.all()
    assert entry.user.username == "ops-1"
    assert entry.change_message.startswith("catalogue: change: price.monthly 5 -> 6 - ticket 7 - manage.py, by ")
    file["types"][0]["price"]["monthly"] = 7
    apply(file)
    someone = LogEntry.objects.latest("pk").user
    assert (someone.username, someone.is_active, someone.is_staff) == ("(command line)", False, False)
    assert not someone.has_usable_password()
    file["types"][0]["price"]["monthly"] = 8
    User.objects.filter(username="ops-1").update(is_active=False)
    with pytest.raises(Invalid, match="no active staff user 'ops-1'"):
        apply(file, by="ops-1")
    assert InstanceType.objects.get().price_monthly == 7


def test_nothing_is_applied_where_the_installation_changed_since_the_plan(world):
    file = exported("types")
    file["types"][0]["label"] = "New"
    catalogue = read(json.dumps(file))
    plan = applying.planned(catalogue)
    InstanceType.objects.update(price_monthly=9)
    with pytest.raises(Invalid, match="changed after the plan was shown"):
        applying.apply(catalogue, plan)
    assert InstanceType.objects.get().label == "Test 2GB"


def test_a_plan_takes_the_same_number_of_queries_however_much_there_is(world):
    def queries() -> int:
        catalogue = read(json.dumps(exported(*ALL)))
        with CaptureQueriesContext(connection) as captured:
            applying.planned(catalogue)
        return len(captured)

    few = queries()
    seed()
    assert queries() == few <= 23


# --- the command ------------------------------------------------------------------------------------------


def command(tmp_path, file, *arguments: str) -> str:
    path, output = tmp_path / "catalogue.json", io.StringIO()
    path.write_text(json.dumps(file))
    call_command("catalogue", "apply", str(path), *arguments, stdout=output)
    return output.getvalue()


def test_a_check_tells_scripts_by_its_exit_code_and_changes_nothing(world, tmp_path):
    file = exported(*ALL)
    with pytest.raises(SystemExit) as ended:
        command(tmp_path, file, "--check")
    assert ended.value.code == 0
    file["types"][0]["label"] = "New"
    with pytest.raises(SystemExit) as ended:
        command(tmp_path, file, "--dry-run")
    assert ended.value.code == 2
    assert InstanceType.objects.get().label == "Test 2GB"
    assert not SeededRow.objects.exists()


def test_without_a_terminal_nothing_is_applied_unasked(world, tmp_path, monkeypatch):
    file = exported("types")
    file["types"][0]["label"] = "New"
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    with pytest.raises(CommandError, match="The command cannot ask without a terminal"):
        command(tmp_path, file)
    assert InstanceType.objects.get().label == "Test 2GB"


@pytest.mark.parametrize(("answer", "label"), [("yes", "New"), ("y", "Test 2GB"), ("", "Test 2GB")])
def test_at_a_terminal_the_plan_is_shown_and_yes_alone_applies_it(world, tmp_path, monkeypatch, answer, label):
    file = exported("types")
    file["types"][0]["label"] = "New"
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr("builtins.input", lambda question: answer)
    if label == "New":
        output = command(tmp_path, file)
        assert output.startswith("types\n  ~ g6-test-2: label 'Test 2GB' -> New\nPlan: 0 to add, 1 to change,")
    else:
        with pytest.raises(CommandError, match=r"Nothing was applied\."):
            command(tmp_path, file)
    assert InstanceType.objects.get().label == label


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["apply", "nowhere.yaml"], "nowhere.yaml: No such file or directory."),
        (["export", "/nowhere/catalogue.yaml"], "/nowhere/catalogue.yaml: No such file or directory."),
        (["export", "--only", "types,plans"], "There is no section 'plans'. Use one of: regions, types"),
        (["release", "plans"], "There is no section 'plans'"),
    ],
)
def test_each_mistake_in_a_command_is_one_line(world, arguments, line):
    with pytest.raises(CommandError) as caught:
        call_command("catalogue", *arguments, stdout=io.StringIO())
    assert str(caught.value).startswith(line)


def test_an_export_is_yaml_or_json_by_the_name_of_its_file(world, tmp_path):
    for name in ("a.yaml", "a.json"):
        call_command("catalogue", "export", str(tmp_path / name), "--only", "regions,types", stdout=io.StringIO())
    plain, form = ((tmp_path / name).read_text() for name in ("a.yaml", "a.json"))
    assert read(plain) == read(form) != {}
    assert plain.startswith("regions:\n- id: us-test\n")
    assert json.loads(form)["types"][0]["price"] == {"hourly": 0.01, "monthly": 5}
