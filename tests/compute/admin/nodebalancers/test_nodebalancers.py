"""Load balancers in the admin."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Event
from compute.models import Address, NodeBalancer, NodeBalancerConfig
from config.encryption import encrypt_json
from tests.config.admin.pages import list_address, messages_of, page_address
from tests.factories import NodeBalancerConfigFactory, NodeBalancerFactory, NodeBalancerNodeFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def balancer(running) -> NodeBalancer:
    """A load balancer with a config and three nodes: one up, one down, one of unknown status."""
    made = NodeBalancerFactory(account=running.account, region=running.region, label="edge", ipv4="198.18.0.50")
    Address.objects.filter(address="198.18.0.50").update(nodebalancer=made)
    config = NodeBalancerConfigFactory(nodebalancer=made, port=8443, check_type="http", check_path="/health")
    for status in ("UP", "DOWN", "Unknown"):
        NodeBalancerNodeFactory(config=config, instance=running, status=status)
    return made


def test_a_page_shows_nodes_and_their_statuses(admin, balancer, running):
    page = admin.get(page_address(balancer)).content.decode()
    for text in ("1 UP", "1 DOWN", "1 Unknown", "8443", "http of /health, every 31 s", running.label, "10.0.1."):
        assert text in page
    page = admin.get(page_address(balancer.account)).content.decode()
    assert "Load balancers" in page
    assert "edge" in page


def test_no_page_shows_a_key(admin, balancer):
    encrypted = {
        "protocol": "https",
        "ssl_cert": "-----CERT-----",
        "encrypted": encrypt_json({"key": "-----KEY-----"}),
    }
    NodeBalancerConfig.objects.update(ssl_commonname="www.example.com", **encrypted)
    page = admin.get(page_address(balancer)).content.decode()
    assert "www.example.com" in page
    assert "-----KEY" not in page


@pytest.mark.parametrize("term", ["edge", "198.18.0.50"])
def test_it_is_found(term, admin, balancer):
    NodeBalancerFactory(label="another")
    page = admin.get(list_address(NodeBalancer), {"q": term})
    assert [row.pk for row in page.context["cl"].result_list] == [balancer.pk]


def test_staff_delete_one_in_its_accounts_name(admin, staff, balancer):
    address = page_address(balancer).replace("/change/", "/do/delete/")
    assert b"cannot be undone" in admin.post(address).content
    done = admin.post(address, {"confirmed": "yes"}, follow=True)
    assert "deleted, and its address released." in messages_of(done)
    assert not NodeBalancer.objects.exists()
    event = Event.objects.get(action="nodebalancer_delete")
    assert (event.account, event.username) == (balancer.account, staff.username)


def test_an_address_tells_which_balancer_has_it(admin, balancer):
    page = admin.get(list_address(Address), {"q": "198.18.0.50"})
    assert "edge" in page.content.decode()
    used = admin.get(list_address(Address), {"used": "yes", "q": "198.18.0.50"})
    assert len(used.context["cl"].result_list) == 1
    free = admin.get(list_address(Address), {"used": "no", "q": "198.18.0.50"})
    assert len(free.context["cl"].result_list) == 0


def test_lists_and_pages_cost_the_same_however_long(admin, balancer, running):
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert admin.get(list_address(NodeBalancer)).status_code == 200
            assert admin.get(page_address(balancer)).status_code == 200
        return len(queries)

    cost()
    few = cost()
    for _ in range(3):
        NodeBalancerFactory(account=running.account)
        NodeBalancerNodeFactory(config=NodeBalancerConfigFactory(nodebalancer=balancer), instance=running)
    assert cost() == few
