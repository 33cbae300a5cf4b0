"""The root password in a browser."""

import re
from html import unescape

import pytest

from compute.models import Job
from compute.pages.root_passwords import BOTH_GIVEN
from compute.services.common.password_strength import WEAK
from config.encryption import decrypt_json
from tests.accounts.pages.browsers import problems
from tests.compute.pages.visiting import last_event, owner_of, page_of, text_of
from tests.compute.worker.scenarios import deployed
from tests.world import STRONG

pytestmark = pytest.mark.django_db


def password_of(job: Job) -> str:
    return decrypt_json(job.encrypted)["root_pass"]


def test_a_typed_password_is_set_and_never_shown(world, driver):
    instance = deployed(world, driver, running=False)
    answer = owner_of(world).post(page_of(instance, "password"), {"root_pass": f" {STRONG} "}, follow=True)
    assert STRONG not in text_of(answer)
    assert password_of(instance.jobs.get(finished_at=None)) == f" {STRONG} "
    assert last_event(instance) == "password_reset"
    assert "A root password is set." in text_of(answer)


def test_a_generated_password_is_shown_once(world, driver):
    browser, instance = owner_of(world), deployed(world, driver, running=False)
    answer = browser.post(page_of(instance, "password"), {"generate": "on"}, follow=True)
    shown = re.search(r'id="root-password"[^>]*>([^<]+)', text_of(answer))
    assert shown
    assert unescape(shown[1]) == password_of(instance.jobs.get(finished_at=None))
    assert "no-store" in answer["Cache-Control"]
    again = browser.get(page_of(instance, "password/shown"))
    assert again["Location"] == page_of(instance)
    assert shown[1] not in text_of(browser.get(page_of(instance)))


def test_a_password_for_one_instance_is_not_shown_at_another(world, driver):
    browser, instance = owner_of(world), deployed(world, driver, running=False)
    browser.post(page_of(instance, "password"), {"generate": "on"})
    other = world.create()
    assert browser.get(page_of(other, "password/shown"))["Location"] == page_of(other)


def test_a_password_is_typed_or_generated(world, driver):
    browser, instance = owner_of(world), deployed(world, driver, running=False)
    answer = browser.post(page_of(instance, "password"), {"generate": "on", "root_pass": STRONG})
    assert problems(answer, "root_pass") == BOTH_GIVEN
    assert not instance.jobs.filter(finished_at=None).exists()


@pytest.mark.parametrize(("sent", "reason"), [("", '"Root password" is required'), ("password", WEAK)])
def test_the_reason_stands_at_the_password(world, driver, sent, reason):
    instance = deployed(world, driver, running=False)
    answer = owner_of(world).post(page_of(instance, "password"), {"root_pass": sent})
    assert problems(answer, "root_pass") == reason
    assert 'value="password"' not in text_of(answer)


def test_the_instance_must_be_off(world, driver):
    instance = deployed(world, driver)
    page = text_of(owner_of(world).get(page_of(instance, "password")))
    assert "that is running" in page
