"""A restricted user in a browser: one instance to read, one to change, and one that the user has no grant on."""

import pytest
from selenium.webdriver.common.by import By

from accounts.models import User
from compute.models import Instance
from tests.browser.visitor import Visitor
from tests.compute.pages.parts import add_parts
from tests.factories import EventFactory, GrantFactory, InstanceFactory, VolumeFactory

pytestmark = pytest.mark.browser

TABS = ("Overview", "Storage", "Configurations", "Backups", "Network", "Activity")
VERBS_OF_PARTS = {
    "storage": ("Create disk", "Attach volume"),
    "configs": ("Create profile",),
    "backups": ("Edit schedule", "Disable backups", "Take snapshot"),
    "network": ("Add address", "Share addresses", "Create range", "Attach firewall"),
}
"""The links of each tab that lead to a verb."""


@pytest.fixture
def instances(account, restricted) -> dict[str, Instance]:
    """Three instances, the first of which the restricted user may read, and the second change."""
    made = {}
    for label, level in (("web-read", "read_only"), ("web-write", "read_write"), ("web-none", "")):
        made[label] = InstanceFactory(account=account, label=label, backups_enabled=True, status="running")
        add_parts(made[label])
        EventFactory(
            account=account, action="compute_boot", entity_type="compute", entity_id=made[label].pk,
            entity_label=label, username="owner", status="finished",
        )  # fmt: skip
        if level:
            GrantFactory(user=restricted, entity_id=made[label].pk, permissions=level)
    VolumeFactory(account=account, label="web-films")
    return made


def main(visitor: Visitor) -> str:
    return str(visitor.driver.execute_script("return document.querySelector('main').innerText"))


def linked(visitor: Visitor) -> set[str]:
    """The words of all links and buttons of the page's content."""
    find = (
        "return [...document.querySelectorAll('main a, main button, main summary')].map(e => e.textContent.trim())"
    )
    return set(visitor.driver.execute_script(find))


def test_a_restricted_user_sees_and_changes_granted_objects(visitor: Visitor, restricted: User, instances):
    visitor.arrive_as(restricted)
    visitor.visit("/home")
    assert "2 running" in " ".join(main(visitor).split())
    assert "web-none" not in main(visitor)
    assert "Create instance" not in linked(visitor)

    visitor.visit("/home/search?q=web")
    assert {"web-read", "web-write"} <= linked(visitor)
    assert "web-none" not in main(visitor)
    assert "web-films" not in main(visitor)

    visitor.follow("Instances")
    boxes = visitor.driver.find_elements(By.CSS_SELECTOR, "tbody input[type=checkbox]")
    assert [box.get_attribute("aria-label") for box in boxes] == ["Choose web-write"]
    assert {"web-read", "web-write"} <= linked(visitor)
    assert "web-none" not in main(visitor)
    assert not {"Create instance", "Tag"} & linked(visitor)

    visitor.follow("web-read")
    verbs = {"Reboot", "Shut down", "Console", "More", "Rebuild", "Clone", "Settings"}
    assert not verbs & linked(visitor)
    assert set(TABS) <= linked(visitor)
    for page, words in VERBS_OF_PARTS.items():
        visitor.visit(f"/home/instances/{instances['web-read'].pk}/{page}")
        assert not {*words, "Edit", "Delete", "Resize"} & linked(visitor), page
    visitor.visit(f"/home/instances/{instances['web-read'].pk}/resize")
    assert visitor.heading != "Resize web-read"

    visitor.visit(f"/home/instances/{instances['web-write'].pk}")
    assert verbs - {"Clone"} <= linked(visitor)
    assert "Clone" not in linked(visitor), "it needs the grant to create instances"
    for page, words in VERBS_OF_PARTS.items():
        visitor.visit(f"/home/instances/{instances['web-write'].pk}/{page}")
        assert {*words} <= linked(visitor), page
    visitor.follow("Settings")
    visitor.type("Label", "web-mine")
    visitor.press("Save")
    assert "The settings were saved." in main(visitor)
    assert visitor.heading == "web-mine"

    visitor.visit(f"/home/instances/{instances['web-none'].pk}")
    assert visitor.heading == "This page does not exist"
