"""The events of an instance in a browser."""

import re

import pytest

from accounts.models import Event
from compute.models import Instance
from tests.compute.pages.visiting import HTMX, owner_of, page_of, restricted_at, text_of
from tests.factories import EventFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(world) -> Instance:
    made = world.offline(label="web-1")
    Event.objects.all().delete()
    return made


def happened(instance: Instance, number: int = 1, **fields) -> None:
    about = {"entity_type": "compute", "entity_id": instance.pk, "action": "compute_update"}
    EventFactory.create_batch(number, account=instance.account, **{**about, **fields})


def seen_in(answer) -> str:
    found = re.search(r"(?:events\?|page=\d+&amp;)seen=(\w+)", text_of(answer))
    assert found
    return found[1]


def test_messages_of_the_platform_have_the_words_of_pages(world, instance):
    sentence = "The volume my-compute in sdb is not attached to the compute."
    happened(instance, message=f"{sentence} The compute was deleted.")
    happened(instance, action="stackscript_revise", message="The compute was deleted.")
    happened(instance, message="Our compute is slow.")
    page = text_of(owner_of(world).get(page_of(instance, "activity")))
    assert "The volume my-compute in sdb is not attached to the instance. The instance was deleted." in page
    assert ">The compute was deleted." in page, "a customer wrote it"
    assert "Our compute is slow." in page


def test_events_are_listed_with_the_newest_first(world, instance):
    happened(instance, message="first")
    happened(instance, message="second")
    happened(world.offline(label="other"), message="elsewhere")
    page = text_of(owner_of(world).get(page_of(instance, "activity")))
    assert page.index("second") < page.index("first")
    assert "elsewhere" not in page


def test_an_instance_without_events_says_so(world, instance):
    assert "Nothing has happened yet." in text_of(owner_of(world).get(page_of(instance, "activity")))


def test_events_have_pages(world, instance):
    browser = owner_of(world)
    happened(instance, 52)
    assert "1 of 2" in text_of(browser.get(page_of(instance, "activity")))
    assert "2 of 2" in text_of(browser.get(page_of(instance, "activity?page=2")))
    assert browser.get(page_of(instance, "activity?page=x")).status_code == 200


@pytest.mark.parametrize(("page", "part"), [("activity", "activity"), ("", "events")])
def test_the_list_is_sent_again_only_if_it_has_changed(world, instance, page, part):
    browser = owner_of(world)
    seen = seen_in(browser.get(page_of(instance, page)))
    address = page_of(instance, f"{part}?seen={seen}")
    assert browser.get(address, headers=HTMX).status_code == 204
    happened(instance, message="something new")
    answer = browser.get(address, headers=HTMX)
    assert "something new" in text_of(answer)
    assert "<h1" not in answer.content.decode()


def test_readers_see_the_events_of_their_instance(instance):
    happened(instance, message="for all")
    assert "for all" in text_of(restricted_at(instance).get(page_of(instance, "activity")))
