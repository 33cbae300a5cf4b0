"""Address pools: refused forms, created rows, and deletions."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from compute.models import Address, AddressPool, Instance, InstanceType, Kernel
from regions.models import Region
from tests.compute.admin.networking.pools import add
from tests.config.admin.pages import do, list_address, messages_of, page_address

pytestmark = pytest.mark.django_db


def test_a_new_pool_is_filled_but_for_network_broadcast_and_gateway(admin, world):
    response = add(admin)
    assert "has 5 free addresses" in messages_of(response)
    pool = AddressPool.objects.get(network="198.51.100.0/29")
    assert [row.address for row in pool.addresses.all()] == [f"198.51.100.{n}" for n in range(2, 7)]
    assert LogEntry.objects.filter(object_id=str(pool.pk)).exists()


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"network": "198.51.100.1/29"}, "network", "not a network"),
        ({"network": "nonsense"}, "network", "not a network"),
        ({"network": "198.18.0.0/25", "gateway": "198.18.0.1"}, "network", "overlaps"),
        ({"network": "198.16.0.0/14", "gateway": "198.16.0.1"}, "network", "between /16 and /30"),
        ({"network": "198.51.100.0/31", "gateway": "198.51.100.1"}, "network", "between /16 and /30"),
        ({"network": "2001:db8::/64", "gateway": "2001:db8::1"}, "network", "IPv4"),
        ({"kind": "slaac"}, "network", "IPv6 /64"),
        ({"kind": "slaac", "network": "2001:db8:77::/64", "gateway": "fe80::1"}, "network", "overlaps"),
        ({"gateway": "198.51.100.9"}, "gateway", "inside the network"),
        ({"gateway": "198.51.100.7"}, "gateway", "broadcast"),
        ({"gateway": "fe80::1"}, "gateway", "inside the network"),
    ],
)
def test_a_problem_is_shown_at_its_field(fields, field, reason, admin, world):
    before = AddressPool.objects.count()
    form = add(admin, **fields).context["adminform"].form
    assert reason in " ".join(form.errors[field])
    assert AddressPool.objects.count() == before


def test_a_slaac_pool_has_no_rows_and_may_have_a_link_local_gateway(admin, world):
    add(admin, kind="slaac", network="2001:db8:99::/64", gateway="fe80::1")
    assert not AddressPool.objects.get(network="2001:db8:99::/64").addresses.exists()


def test_an_unused_pool_goes_with_its_addresses(admin, world):
    add(admin)
    pool = AddressPool.objects.get(network="198.51.100.0/29")
    response = do(admin, pool, "delete")
    assert "deleted, with its addresses" in messages_of(response)
    assert not Address.objects.filter(address="198.51.100.2").exists()


def test_a_used_pool_stays_with_all_of_its_addresses(admin, world, running):
    pool = AddressPool.objects.get(network="198.18.0.0/24")
    number = pool.addresses.count()
    assert "1 of its addresses is in use." in messages_of(do(admin, pool, "delete"))
    assert pool.addresses.count() == number


def test_a_used_slaac_pool_stays(admin, world, running):
    pool = AddressPool.objects.get(kind="slaac")
    assert "have addresses of it" in messages_of(do(admin, pool, "delete"))


def test_the_list_counts_used_and_free_in_one_query(admin, world, running):
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            text = admin.get(list_address(AddressPool)).content.decode()
        assert ">57<" in text
        return len(queries)

    cost()
    few = cost()
    add(admin)
    add(admin, network="198.51.100.8/29", gateway="198.51.100.9")
    admin.get(list_address(AddressPool))  # shows the messages
    assert cost() == few


def test_the_index_warns_of_a_pool_that_runs_dry(admin, world, running):
    free = Address.objects.filter(pool__network="198.18.0.0/24", instance=None)
    free.filter(pk__in=free.values("pk")[:53]).update(instance=running)
    text = admin.get(reverse("admin:index")).content.decode()
    assert "198.18.0.0/24 (public, us-test): 4 of 58 addresses free" in text


def test_an_address_tells_who_has_it(admin, running):
    response = admin.get(list_address(Address), {"q": running.ipv4[0]})
    assert [row.instance for row in response.context["cl"].result_list] == [running]


@pytest.mark.parametrize("model", [Region, InstanceType, Kernel])
def test_the_ids_of_the_catalogue_cannot_be_changed(model, admin, world):
    form = admin.get(page_address(model.objects.first())).context["adminform"].form
    assert "id" not in form.fields


def test_a_type_in_use_cannot_be_deleted(admin, running):
    address = page_address(running.type).replace("/change/", "/delete/")
    admin.post(address, {"post": "yes"})
    assert InstanceType.objects.filter(pk=running.type_id).exists()


def test_a_host_takes_no_new_instances_when_staff_say_so(admin, running):
    host = running.host
    capacity = {"memory": host.memory // 1024, "vcpus": host.vcpus, "disk": host.disk // 1024}
    admin.post(page_address(host), {"label": host.label, "driver": "simulated", **capacity})
    running.host.refresh_from_db()
    assert running.host.enabled is False
    assert Instance.objects.filter(pk=running.pk, status="running").exists()
