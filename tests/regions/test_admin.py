"""The page of a region in the admin, and the effects of retiring one."""

import pytest
from django.test import Client

from compute.models import Instance
from compute.services.hosts import moves
from compute.services.images import images
from compute.services.instances import clones, instances
from compute.services.nodebalancers import nodebalancers
from compute.services.seed import seed
from compute.services.volumes import volumes
from config.errors import Invalid
from regions.models import CAPABILITIES, RETIRED, Region
from tests.factories import InstanceFactory, VolumeFactory
from tests.world import STRONG, World

pytestmark = pytest.mark.django_db
GIVEN = {
    "id": "no-osl", "country": "NO", "status": "ok", "capabilities": ["Computes", "Block Storage"],
    "resolvers_ipv4": "192.0.2.53, 192.0.2.54", "resolvers_ipv6": "2001:db8:0::53", "position": 1000,
}  # fmt: skip


@pytest.fixture
def admin(staff) -> Client:
    client = Client()
    client.force_login(staff)
    return client


def save(admin: Client, address: str = "add/", **changes) -> dict[str, list[str]]:
    """Send the form. Returns the errors at its fields."""
    answer = admin.post(f"/admin/regions/region/{address}", GIVEN | changes)
    return {} if answer.status_code == 302 else dict(answer.context["adminform"].form.errors)


def test_staff_add_a_region(admin):
    assert save(admin) == {}
    region = Region.objects.get()
    assert (region.pk, region.country, region.capabilities) == ("no-osl", "no", ["Computes", "Block Storage"])
    assert (region.resolvers_ipv4, region.resolvers_ipv6) == ("192.0.2.53,192.0.2.54", "2001:db8::53")


def test_every_capability_is_a_box_to_tick(admin):
    page = admin.get("/admin/regions/region/add/").content.decode()
    assert page.count('type="checkbox" name="capabilities"') == len(CAPABILITIES)


def test_a_region_a_host_and_a_pool_are_all_that_a_first_instance_needs(admin, owner, client_for):
    """The three forms of docs/operating.md, on an installation that was seeded without demo."""
    seed()
    assert save(admin) == {}
    host = {"label": "metal-1", "region": "no-osl", "enabled": "on", "driver": "simulated"}
    host |= {"memory": 65536, "vcpus": 32, "disk": 2048000}
    pool = {"region": "no-osl", "kind": "public", "network": "203.0.113.0/28", "gateway": "203.0.113.1"}
    for page, given in (("host", host), ("addresspool", pool)):
        answer = admin.post(f"/admin/compute/{page}/add/", given)
        assert answer.status_code == 302, answer.context["adminform"].form.errors
    wish = {"region": "no-osl", "type": "g6-nanode-1", "image": "compute/debian11", "root_pass": STRONG}
    made = client_for(owner).post("/v4/compute/instances", wish).json()
    assert (made["region"], made["status"], made["ipv4"]) == ("no-osl", "provisioning", ["203.0.113.2"])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("capabilities", ["Computers"]),
        ("country", "n1"),
        ("resolvers_ipv4", "192.0.2.53,dns.example.com"),
        ("resolvers_ipv4", "2001:db8::53"),
        ("resolvers_ipv6", "192.0.2.53"),
        ("id", "two words"),
    ],
)
def test_invalid_values_are_refused_at_their_field(admin, field, value):
    assert list(save(admin, **{field: value})) == [field]
    assert not Region.objects.exists()


def test_a_capability_typed_before_there_were_boxes_is_not_lost(admin):
    Region.objects.create(id="no-osl", country="no", capabilities=["Computes", "Own thing"])
    assert save(admin, "no-osl/change/", capabilities=["Own thing"]) == {}
    assert Region.objects.get().capabilities == ["Own thing"]


def at_rest(world: World) -> Instance:
    """Create an instance that no job works on."""
    fields = {"account": world.account, "region": world.region, "host": world.host, "type": world.type}
    return InstanceFactory(**fields, status="offline")


def retire(region: Region) -> None:
    Region.objects.filter(pk=region.pk).update(
        retired=True, capabilities=["Computes", "Block Storage", "NodeBalancers", "Vlans"]
    )


def test_a_region_is_retired_in_the_admin(admin, world):
    page = f"{world.region.pk}/change/"
    assert save(admin, page, retired="on") == {}
    assert Region.objects.get(pk=world.region.pk).retired
    assert "retired" in admin.get("/admin/regions/region/").content.decode()
    assert save(admin, page) == {}
    assert not Region.objects.get(pk=world.region.pk).retired


def test_a_retired_region_takes_nothing_new(world: World):
    kept, other = at_rest(world), Region.objects.create(id="us-other", country="us", capabilities=["Computes"])
    volume = VolumeFactory(account=world.account, region=world.region)
    retire(world.region)
    retire(other)
    refused = {
        "instance": lambda: world.create(),
        "volume": lambda: volumes.create(world.actor, volumes.VolumeSpec(label="new", region=world.region.pk)),
        "volume's copy": lambda: volumes.clone(world.actor, volume, "copy"),
        "balancer": lambda: nodebalancers.create(
            world.actor, nodebalancers.NodeBalancerSpec(region=world.region.pk)
        ),
        "upload": lambda: images.begin_upload(world.actor, label="mine", description=None, region=world.region.pk),
        "clone": lambda: clones.clone(world.actor, kept, clones.CloneSpec(region=world.region.pk)),
        "arrival": lambda: moves.migrate(world.actor, kept, other.pk),
    }
    for what, begin in refused.items():
        with pytest.raises(Invalid) as caught:
            begin()
        assert RETIRED in {problem.reason for problem in caught.value.problems}, what


def test_instances_in_a_retired_region_keep_working(world: World, client):
    instance = at_rest(world)
    retire(world.region)
    instance.refresh_from_db()
    changes = instances.InstanceChanges({"label": "renamed"})
    assert instances.update(world.actor, instance, changes).label == "renamed"
    assert "retired" not in client.get(f"/v4/regions/{world.region.pk}").json()
    assert [region["id"] for region in client.get("/v4/regions").json()["data"]] == [world.region.pk]
