"""A customer creates an instance: with three clicks, and with choices that the page follows."""

import pytest
from selenium.webdriver.common.by import By

from accounts.models import User
from compute.models import Instance
from compute.services.common.password_strength import WEAK, is_strong
from tests.browser.looks import broken_words, check
from tests.browser.visitor import DESKTOP, Visitor
from tests.factories import HostFactory, InstanceTypeFactory, RegionFactory, StackScriptFactory
from tests.world import STRONG, World

pytestmark = pytest.mark.browser

SCRIPT = """#!/bin/sh
# <UDF name="motd" label="Message of the day" default="welcome" />
# <UDF name="db_password" label="Password of the database" />
"""


@pytest.fixture
def at_home(site, visitor, world: World) -> Visitor:
    visitor.arrive_as(User.objects.get(pk=world.actor.user_id))
    visitor.visit("/home")
    return visitor


def pick(visitor: Visitor, name: str) -> None:
    """Click a radio button, which the bar at the top must not cover."""
    button = visitor.driver.find_element(By.ID, name)
    visitor.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()


@pytest.mark.usefixtures("hurry")
def test_a_new_account_has_a_running_instance_after_three_clicks(at_home, worker):
    at_home.follow("Create instance")
    check(at_home)
    at_home.press("Create instance")
    instance = Instance.objects.get()
    assert at_home.heading == instance.label
    assert is_strong(at_home.words_of("root-password"))
    assert at_home.words_of("ssh-line") == f"ssh root@{instance.ipv4[0]}"
    check(at_home)
    worker.run_jobs()
    at_home.wait_for(lambda: "running" in at_home.part("state"))
    at_home.follow(f"I have stored it: go to {instance.label}")
    assert at_home.driver.current_url.endswith(f"/home/instances/{instance.pk}")


def test_the_page_follows_the_choices_and_keeps_typed_values(at_home, world):
    RegionFactory(id="far", country="in")
    HostFactory(region_id="far")
    InstanceTypeFactory(id="small", label="Small", memory=1024, price_monthly=3)
    script = StackScriptFactory(account=world.account, label="Mine", script=SCRIPT)
    at_home.visit("/home/instances/new?type=g6-test-2&region=far")
    at_home.type("Root password", "password1")
    at_home.wait_for(lambda: at_home.part("strength") == WEAK)
    at_home.type("Root password", STRONG)
    at_home.wait_for(lambda: at_home.part("strength") == "Strength: strong")
    at_home.choose("Script", "Mine")
    at_home.wait_for(lambda: at_home.driver.find_elements(By.NAME, "script_shown"))
    at_home.type("Password of the database", "geheim-123")
    pick(at_home, "type-small")
    at_home.wait_for(lambda: "$3 a month" in at_home.part("summary"))
    pick(at_home, "region-us-test")
    at_home.wait_for(lambda: "Region us-test" in at_home.part("summary"))
    assert at_home.driver.switch_to.active_element.get_attribute("id") == "region-us-test"
    at_home.type("Label", "web-1")
    at_home.press("Create instance")
    instance = Instance.objects.get()
    assert at_home.heading == "web-1"
    assert (instance.region_id, instance.type_id) == ("us-test", "small")
    assert instance.disks.filter(stackscript=script).exists()


def test_the_names_of_types_are_not_broken(at_home):
    InstanceTypeFactory(
        id="large", label="Compute 128GB", memory=131072, disk=3932160, vcpus=24, transfer=20000,
        price_monthly=640, price_hourly=0.9675,
    )  # fmt: skip
    at_home.visit("/home/instances/new?type=large")
    assert "3,840 GB" in at_home.text
    for width in (320, 768, 1200, DESKTOP, 1400):
        at_home.set_screen(width, dark=False)
        assert broken_words(at_home, ".plans label") == [], width
