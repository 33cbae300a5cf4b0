"""Volumes in a browser: a form whose choices follow each other, and a page that updates itself."""

import pytest
from selenium.webdriver.support.select import Select

from compute.models import Volume
from tests.browser.visitor import Visitor
from tests.factories import ConfigFactory, InstanceFactory

pytestmark = pytest.mark.browser


@pytest.mark.usefixtures("hurry")
def test_a_volume_is_created_for_an_instance_and_shows_its_state(visitor: Visitor, owner):
    def offered(label: str) -> list[str]:
        """Return the words of the options of a list, or nothing if the page has no such list now."""
        if label not in visitor.part("choices"):
            return []
        return [option.text for option in Select(visitor.field(label)).options]

    ConfigFactory(instance=InstanceFactory(account=owner.account, label="web-1"), label="default")
    visitor.arrive_as(owner)
    visitor.visit("/home/volumes")
    visitor.follow("Create volume")
    visitor.type("Label", "files")
    visitor.choose("Region", "us-test (United States)")
    visitor.wait_for(lambda: "web-1" in visitor.part("choices"))
    visitor.choose("Attach to", "web-1")
    visitor.wait_for(lambda: "Configuration profile" in visitor.part("choices"))
    assert offered("Configuration profile") == ["the one that boots next", "default"]
    visitor.press("Create volume")
    made = Volume.objects.get(label="files")
    assert visitor.path == f"/home/volumes/{made.pk}"
    assert "creating" in visitor.part("part")
    made.jobs.all().delete()
    Volume.objects.update(status="active")
    visitor.wait_for(lambda: "active" in visitor.part("part"))
    Volume.objects.all().delete()
    visitor.wait_for(lambda: visitor.path == "/home/volumes")
    assert "This volume has been deleted" in visitor.text
