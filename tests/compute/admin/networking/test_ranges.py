"""IPv6 pools for ranges, ranges that staff take back, and additional addresses of instances."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Event
from compute.models import AddressPool, AddressShare, Instance, IPv6Range, RangeShare
from tests.compute.admin.networking.pools import add
from tests.config.admin.pages import do, list_address, messages_of, page_address
from tests.factories import AccountFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def routed(world) -> AddressPool:
    return AddressPool.objects.create(
        region=world.region, kind="routed", network="2001:db8:5000::/48", gateway="fe80::1"
    )


def give(admin, world, **fields):
    data = {"account": world.account.pk, "region": "us-test", "instance": "", "route_target": "", **fields}
    return admin.post(reverse("admin:compute_ipv6range_add"), data, follow=True)


def test_assigning_a_pool_is_reported_and_logged(admin, world, running, routed):
    give(admin, world, instance=running.pk)
    given = IPv6Range.objects.get()
    assert (str(given), given.kind, given.pool, given.instance) == ("2001:db8:5000::/116", "pool", routed, running)
    event = Event.objects.latest("pk")
    assert (event.action, event.username, event.entity_id) == ("compute_addip", "staff", running.pk)
    assert LogEntry.objects.filter(object_id=str(given.pk)).exists()
    text = admin.get(page_address(running)).content.decode()
    assert "2001:db8:5000::/116" in text


def test_a_problem_is_shown_at_its_field(admin, world, running, routed):
    form = give(admin, world, account=AccountFactory().pk, instance=running.pk).context["adminform"].form
    assert "another account" in " ".join(form.errors["instance"])
    AddressPool.objects.filter(kind="routed").delete()
    form = give(admin, world).context["adminform"].form
    assert "left in this region" in " ".join(form.non_field_errors())
    assert not IPv6Range.objects.exists()


def test_a_range_is_found_and_taken_back(admin, world, running, routed):
    block = IPv6Range.objects.create(
        account=world.account,
        region=world.region,
        pool=routed,
        range="2001:db8:5000::",
        prefix=64,
        instance=running,
    )
    for term in ("2001:DB8:5000:0::", str(running.pk), str(world.account.pk)):
        assert list(admin.get(list_address(IPv6Range), {"q": term}).context["cl"].result_list) == [block]
    assert not admin.get(list_address(IPv6Range), {"q": "nonsense"}).context["cl"].result_list
    assert "not routed any more" in messages_of(do(admin, block, "delete"))
    assert not IPv6Range.objects.exists()
    assert Event.objects.latest("pk").action == "compute_deleteip"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"network": "2001:db8:6000::/60"}, "network"),
        ({"network": "198.51.100.0/24"}, "network"),
        ({"network": "2001:db8:5000:100::/56"}, "network"),
        ({"gateway": "2001:db8:6000::1"}, "gateway"),
    ],
)
def test_a_routed_pool_is_checked(fields, field, admin, routed):
    data = {"kind": "routed", "network": "2001:db8:6000::/48", "gateway": "fe80::1", **fields}
    assert set(add(admin, **data).context["adminform"].form.errors) == {field}
    assert AddressPool.objects.filter(kind="routed").count() == 1


def test_a_routed_pool_goes_when_nothing_of_it_is_used(admin, world, routed):
    add(admin, kind="routed", network="2001:db8:6000::/48", gateway="fe80::1")
    give(admin, world)
    assert "1 of its ranges is in use." in messages_of(do(admin, routed, "delete"))
    assert ">1 range<" in admin.get(list_address(AddressPool)).content.decode()
    other = AddressPool.objects.get(network="2001:db8:6000::/48")
    assert "deleted" in messages_of(do(admin, other, "delete"))


def test_shares_are_shown_and_found(admin, world, running):
    other = world.create(label="other")
    share = AddressShare.objects.create(address=other.addresses.get(), instance=running)
    for term in (other.ipv4[0], str(running.pk)):
        assert list(admin.get(list_address(AddressShare), {"q": term}).context["cl"].result_list) == [share]
    assert page_address(other) in admin.get(page_address(share)).content.decode()


def test_shared_ranges_are_shown_and_found(admin, world, running, routed):
    other = world.create(label="other")
    give(admin, world, instance=other.pk)
    block = IPv6Range.objects.get()
    share = RangeShare.objects.create(range=block, instance=running)
    for term in (block.range, str(running.pk)):
        assert list(admin.get(list_address(RangeShare), {"q": term}).context["cl"].result_list) == [share]
    assert page_address(other) in admin.get(page_address(share)).content.decode()
    assert page_address(block) in admin.get(page_address(running)).content.decode()


def test_lists_cost_the_same_however_long(admin, world, running, routed):
    def cost(model) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert admin.get(list_address(model)).status_code == 200
        return len(queries)

    def more() -> None:
        other = world.create()
        AddressShare.objects.create(address=other.addresses.get(), instance=running)
        give(admin, world, instance=other.pk)
        RangeShare.objects.create(range=IPv6Range.objects.latest("pk"), instance=running)
        admin.get(list_address(Instance))  # shows the messages

    more()
    few = [[cost(model) for _ in range(2)][1] for model in (IPv6Range, AddressShare, RangeShare)]
    more()
    assert [cost(model) for model in (IPv6Range, AddressShare, RangeShare)] == few


def test_staff_let_an_account_have_more_addresses(admin, world):
    page = page_address(world.account)
    form = {"company": world.account.company, "email": world.account.email, "total_payments": 0, "extra_ipv4": 3}
    admin.post(page, form)
    world.account.refresh_from_db()
    assert world.account.extra_ipv4 == 3
    assert Event.objects.latest("pk").action == "account_settings_update"
