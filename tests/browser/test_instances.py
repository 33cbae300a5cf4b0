"""The pages of an instance in a browser: they update themselves, and verbs work without scripts."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib.sessions.models import Session
from selenium.webdriver.common.by import By

from accounts.models import Event, User
from compute.jobs import queue
from compute.models import Instance, Job
from tests.browser.visitor import PASSWORD, Visitor
from tests.world import World

pytestmark = [pytest.mark.usefixtures("hurry"), pytest.mark.browser]
LOST = "The connection is lost."
SEND_ONLY = """
const [action, sent] = arguments, form = document.querySelector(`form[action="${action}"]`);
fetch(action, {method: "POST", body: new FormData(form), redirect: "manual"}).then(answer => sent(answer.type));
"""
"""Sends a form and does not follow the redirect, so that the message waits for the next page."""
NOTE_CONFIRMATION = """
new MutationObserver(() => {
  const shown = document.querySelector("[data-confirmation]");
  if (shown) window.confirmed = shown.textContent.trim();
}).observe(document, {childList: true, subtree: true});
"""
"""Notes a confirmation, because a slow browser may have removed it before the test looks."""


@pytest.fixture
def instance(site, world: World, visitor: Visitor, monkeypatch) -> Instance:
    """An instance that is off. Its owner is signed in."""
    monkeypatch.setattr(queue, "notify", lambda number: None)
    made = world.offline(label="web-1", tags=("live",))
    Event.objects.all().delete()
    visitor.arrive_as(User.objects.get(pk=world.actor.person))
    return made


def words(visitor: Visitor) -> str:
    return visitor.driver.find_element(By.TAG_NAME, "main").text


def test_status_and_events_appear_without_a_reload(visitor, world, instance):
    visitor.visit(f"/home/instances/{instance.pk}")
    visitor.wait_for(lambda: "Stats are unavailable at this time." in words(visitor))
    visitor.open("More")
    Instance.objects.filter(pk=instance.pk).update(status="booting")
    Event.objects.create(
        account=world.account, action="compute_boot", status="started", percent_complete=40,
        username="somebody-else", entity_type="compute", entity_id=instance.pk,
    )  # fmt: skip
    visitor.open("More")
    visitor.wait_for(
        lambda: "Another job runs on the instance. Try again later." in words(visitor) and "40 %" in words(visitor)
    )
    visitor.wait_for(lambda: "somebody-else" in words(visitor))


def test_a_confirmation_leaves_when_the_job_is_over(visitor, instance):
    visitor.visit(f"/home/instances/{instance.pk}")
    visitor.press("Boot")
    assert "web-1 is booting." in words(visitor)
    Job.objects.all().delete()
    Instance.objects.filter(pk=instance.pk).update(status="running")
    Event.objects.update(status="finished")
    visitor.wait_for(lambda: "running" in words(visitor) and "web-1 is booting." not in words(visitor))


def test_a_confirmation_leaves_if_the_job_was_over_before_the_page_was_made(visitor, instance):
    visitor.visit(f"/home/instances/{instance.pk}")
    action = f"/home/instances/{instance.pk}/boot"
    assert visitor.driver.execute_async_script(SEND_ONLY, action) == "opaqueredirect"
    Job.objects.all().delete()
    Instance.objects.filter(pk=instance.pk).update(status="running")
    Event.objects.update(status="finished")
    visitor.command("Page.addScriptToEvaluateOnNewDocument", source=NOTE_CONFIRMATION)
    visitor.visit(f"/home/instances/{instance.pk}")
    visitor.wait_for(lambda: "web-1 is booting." not in words(visitor))
    assert visitor.driver.execute_script("return window.confirmed") == "web-1 is booting."


def test_a_deleted_instance_s_page_leads_to_the_list(visitor, instance):
    visitor.visit(f"/home/instances/{instance.pk}")
    with visitor.leaving():
        instance.delete()
    assert visitor.path == "/home/instances"
    assert "has been deleted" in words(visitor)


def test_a_lost_connection_is_shown_and_heals(visitor, instance):
    visitor.visit(f"/home/instances/{instance.pk}")
    assert LOST not in words(visitor)
    with offline(visitor):
        visitor.wait_for(lambda: LOST in words(visitor))
        assert "web-1" in words(visitor)
        Instance.objects.filter(pk=instance.pk).update(status="running")
    visitor.wait_for(lambda: LOST not in words(visitor) and "running" in words(visitor))
    expected = ("ERR_INTERNET_DISCONNECTED", "htmx:sendError", "htmx:afterRequest")
    assert [line for line in visitor.complaints() if not any(each in line for each in expected)] == []


@contextmanager
def offline(visitor: Visitor) -> Iterator[None]:
    """Take the browser offline for the length of the block."""
    unlimited = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    visitor.command("Network.enable")
    visitor.command("Network.emulateNetworkConditions", offline=True, **unlimited)
    try:
        yield
    finally:
        visitor.command("Network.emulateNetworkConditions", offline=False, **unlimited)


def test_a_session_that_ended_leads_to_the_sign_in_page_and_back(visitor, instance):
    user = instance.account.users.get()
    user.set_password(PASSWORD)
    user.save()
    visitor.arrive_as(user)  # a new password ends the sessions
    visitor.visit(f"/home/instances/{instance.pk}/network")
    with visitor.leaving():
        Session.objects.all().delete()
    assert visitor.path == "/login"
    visitor.sign_in(user.username)
    assert visitor.path == f"/home/instances/{instance.pk}/network"


def test_verbs_work_without_scripts(visitor, instance):
    visitor.disable_scripts()
    visitor.visit(f"/home/instances/{instance.pk}")
    visitor.open("More")
    visitor.follow("Delete")
    visitor.type("Label of the instance", "web-1")
    visitor.press("Delete")
    instance.refresh_from_db()
    assert instance.status == "deleting"
