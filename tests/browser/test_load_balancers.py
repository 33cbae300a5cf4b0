"""A load balancer in a browser: the form shows what is needed, and the page shows the health of nodes by itself."""

import pytest
from selenium.webdriver.common.by import By

from compute.models import NodeBalancer, NodeBalancerNode
from regions.models import Region
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.browser


@pytest.mark.usefixtures("hurry")
def test_a_load_balancer_is_created_with_a_node_whose_health_is_shown(visitor: Visitor, world, owner):
    Region.objects.update(capabilities=["Computes", "NodeBalancers"])
    instance = world.offline(label="web-1", private_ip=True)
    owner.account = world.account
    owner.save(update_fields=["account"])
    visitor.arrive_as(owner)
    visitor.visit("/home/load-balancers")
    visitor.follow("Create load balancer")
    visitor.type("Label", "edge")
    visitor.choose("Region", "us-test (United States)")
    for label, choice, field in (
        ("Protocol", "HTTPS, with a certificate", "Private key"),
        ("Check", "http: a request is answered with 2xx or 3xx", "Path of the request"),
    ):
        assert field not in visitor.text
        visitor.choose(label, choice)
        assert field in visitor.text
    assert "Text in the answer" not in visitor.text
    visitor.choose("Protocol", "HTTP")
    visitor.type("Path of the request", "/health")
    visitor.type("Label of the node", "web-1")
    visitor.type("Private address", instance.addresses.get(public=False).address)
    visitor.press("Create load balancer")
    assert visitor.path == f"/home/load-balancers/{NodeBalancer.objects.get().pk}"
    assert "1 Unknown" in visitor.part("part")
    NodeBalancerNode.objects.update(status="DOWN")
    visitor.wait_for(lambda: "1 DOWN" in visitor.part("part"))
    visitor.driver.find_element(By.CSS_SELECTOR, "[aria-label='Actions of web-1']").click()
    visitor.follow("Delete")
    visitor.press("Delete node")
    assert "The node web-1 was deleted." in visitor.text
    assert "This config has no nodes" in visitor.part("part")
