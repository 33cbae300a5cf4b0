"""The storage of an instance in a browser: the list updates itself, and a row's menu leads to a form."""

import pytest
from selenium.webdriver.common.by import By

from accounts.actors import Actor
from compute.services.instances import disks
from tests.browser.visitor import Visitor
from tests.factories import DiskFactory, InstanceFactory

pytestmark = pytest.mark.browser


@pytest.mark.usefixtures("hurry")
def test_a_list_shows_changes_without_a_reload(visitor: Visitor, owner):
    instance = InstanceFactory(account=owner.account, label="web-1")
    disk = DiskFactory(instance=instance, label="data")
    visitor.arrive_as(owner)
    visitor.visit(f"/home/instances/{instance.pk}/storage")
    visitor.driver.execute_script("document.body.dataset.mark = 'kept'")
    disks.update(Actor(owner.account_id, owner.pk, owner.username), disk, {"label": "archive"})
    visitor.wait_for(lambda: "archive" in visitor.part("part"))
    assert visitor.driver.execute_script("return document.body.dataset.mark") == "kept"
    visitor.driver.find_element(By.CSS_SELECTOR, "[aria-label='Actions of archive']").click()
    visitor.follow("Resize")
    visitor.type("New size", "2000")
    visitor.press("Resize disk")
    assert "The disk archive is being resized." in visitor.driver.find_element(By.TAG_NAME, "main").text
