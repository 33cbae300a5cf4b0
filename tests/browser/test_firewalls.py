"""A firewall in a browser without scripts: it is created from presets, and its rules are edited in one form."""

import pytest

from compute.models import Firewall
from tests.browser.visitor import Visitor
from tests.factories import InstanceFactory

pytestmark = pytest.mark.browser


def test_a_firewall_is_created_and_its_rules_edited_without_scripts(visitor: Visitor, owner):
    def press_far(words: str) -> None:
        """Press a button that the top bar may cover, because the address names a row."""
        script = "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})"
        visitor.driver.execute_script(script, visitor.button(words))
        visitor.press(words)

    InstanceFactory(account=owner.account, label="web-1", status="running")
    visitor.arrive_as(owner)
    visitor.disable_scripts()
    visitor.visit("/home/firewalls")
    visitor.follow("Create firewall")
    visitor.type("Label", "edge")
    visitor.tick("HTTPS (TCP 443)")
    visitor.tick("web-1, us-test")
    visitor.press("Create firewall")
    assert visitor.heading == "edge"
    assert "web-1" in visitor.text

    visitor.follow("Edit inbound rules")
    visitor.press("Add rule")
    assert visitor.driver.current_url.endswith("/inbound#rule-3")
    visitor.driver.find_element("name", "inbound[3].ports").send_keys("70000")
    press_far("Move up rule 4")
    press_far("Remove rule 1")
    assert Firewall.objects.get().rules["inbound"][0]["label"] == "ssh"
    visitor.driver.find_element("name", "inbound[1].label").send_keys("custom")
    visitor.enter()
    assert "Ports is not valid" in visitor.text
    ports = visitor.driver.find_element("name", "inbound[1].ports")
    ports.clear()
    ports.send_keys("8080")
    visitor.press("Save rules")
    assert "The inbound rules were saved." in visitor.text
    assert [rule.get("label") for rule in Firewall.objects.get().rules["inbound"]] == ["https", "custom", "ping"]
