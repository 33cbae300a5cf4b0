"""Consoles of simulated machines in a browser: the page's messages, who may use one, and leaving it."""

import pytest
from django.contrib.admin.models import LogEntry
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from accounts.models import User
from compute.models import ConsoleSession, Instance
from tests.browser.looks import check
from tests.browser.second_factors import give_second_factor
from tests.browser.visitor import Visitor
from tests.browser.worker import Worker
from tests.waiting import wait_for
from tests.world import World

pytestmark = pytest.mark.browser

SIMULATED = "This machine is simulated: it has no console."


@pytest.fixture
def owner(world: World) -> User:
    return User.objects.get(pk=world.actor.user_id)


@pytest.fixture
def instance(world: World, worker: Worker) -> Instance:
    """An instance that runs on the simulated hypervisor, which the server uses too."""
    made = world.create(label="web-1")
    worker.run_jobs()
    return made


def state(visitor: Visitor) -> str:
    return visitor.words_of("state")


def test_a_user_comes_to_the_console_of_an_instance(visitor, owner, instance):
    visitor.arrive_as(owner)
    visitor.visit("/home")
    visitor.follow("Instances")
    check(visitor)
    visitor.follow("web-1")
    visitor.follow("Console")
    assert visitor.heading == "Console of web-1"
    visitor.wait_for(lambda: state(visitor) == SIMULATED)
    assert not visitor.driver.find_element(By.ID, "terminal").is_displayed()
    assert not visitor.driver.find_element(By.ID, "open").is_displayed()
    check(visitor)
    wait_for(lambda: ConsoleSession.objects.get().ended is not None)
    session = ConsoleSession.objects.get()
    assert (session.user, session.outcome) == (owner, SIMULATED)


def test_the_page_says_that_an_instance_is_off_and_goes_on_trying(visitor, owner, instance):
    Instance.objects.update(status=Instance.Status.OFFLINE)
    visitor.arrive_as(owner)
    visitor.visit(f"/home/instances/{instance.pk}/console")
    visitor.wait_for(lambda: state(visitor) == "The instance is off. Trying again.")
    Instance.objects.update(status=Instance.Status.RUNNING)
    visitor.wait_for(lambda: state(visitor) == SIMULATED)


def test_the_keyboard_comes_out_of_the_terminal(visitor, owner, instance):
    Instance.objects.update(status=Instance.Status.OFFLINE)
    visitor.arrive_as(owner)
    visitor.visit(f"/home/instances/{instance.pk}/console")
    visitor.wait_for(lambda: "Trying again" in state(visitor))
    visitor.driver.find_element(By.CSS_SELECTOR, ".xterm-helper-textarea").send_keys(Keys.TAB, "x")
    assert visitor.focused == ""
    visitor.driver.find_element(By.CSS_SELECTOR, ".xterm-helper-textarea").send_keys(Keys.CONTROL, "]")
    visitor.wait_for(lambda: visitor.focused == "Leave")
    visitor.button("Leave").click()
    visitor.wait_for(lambda: state(visitor) == "You left the console.")
    assert visitor.focused == "Open console"


def test_a_ticket_that_comes_after_leaving_opens_nothing(visitor, owner, instance):
    Instance.objects.update(status=Instance.Status.OFFLINE)
    visitor.arrive_as(owner)
    visitor.visit(f"/home/instances/{instance.pk}/console")
    visitor.wait_for(lambda: "Trying again" in state(visitor))
    script = (
        "window.fetch = () => { window.asked = true; return new Promise(resolve => (window.answer = resolve)) }"
    )
    visitor.driver.execute_script(script)
    visitor.wait_for(lambda: visitor.driver.execute_script("return window.asked"))
    visitor.button("Leave").click()
    answer = (
        "const done = arguments[0]; window.answer(Response.json({reason: 'The instance is off.', again: true}));"
    )
    visitor.driver.execute_async_script(f"{answer} setTimeout(done)")
    assert state(visitor) == "You left the console."


def test_without_scripts_it_says_how_else(visitor, owner, instance):
    visitor.arrive_as(owner)
    visitor.disable_scripts()
    visitor.visit(f"/home/instances/{instance.pk}/console")
    assert "The console needs JavaScript" in visitor.text


def test_staff_give_a_reason(visitor, staff, instance):
    give_second_factor(staff)
    visitor.arrive_as(staff)
    visitor.visit(f"/admin/compute/instance/{instance.pk}/change/")
    visitor.follow("open the console")
    visitor.button("Open console").click()
    assert visitor.focused == "Reason", "the browser asks for it"
    check(visitor)
    visitor.type("Reason", "It hangs.")
    visitor.button("Open console").click()
    visitor.wait_for(lambda: state(visitor) == SIMULATED)
    assert {each.change_message for each in LogEntry.objects.filter(user=staff)} == {"Console: It hangs."}
