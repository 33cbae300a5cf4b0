"""Managed monitoring in a browser: a service is added, and its pages follow the checks."""

import pytest
from selenium.webdriver.common.by import By

from managed.models import Service
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.browser


@pytest.mark.usefixtures("hurry")
def test_a_service_is_added_and_its_pages_follow_the_checks(visitor: Visitor, owner):
    type(owner.account).objects.update(managed=True)
    visitor.arrive_as(owner)
    visitor.visit("/home/monitoring")
    visitor.follow("Add service")
    visitor.type("Label", "shop")
    visitor.type("Address", "https://shop.example.com/")
    visitor.press("Add service")
    assert visitor.path == f"/home/monitoring/{Service.objects.get().pk}"
    assert "pending" in visitor.part("part")
    Service.objects.update(status="problem", error="it answered 503")
    visitor.wait_for(lambda: "it answered 503" in visitor.part("part"))
    visitor.driver.find_element(By.CSS_SELECTOR, "[aria-label='Actions of shop']").click()
    visitor.press("Disable")
    assert "disabled" in visitor.part("part")
    visitor.visit("/home/monitoring")
    Service.objects.update(status="ok")
    visitor.wait_for(lambda: "ok" in visitor.part("part").split())
