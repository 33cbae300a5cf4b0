"""The overview of an instance, and its header, which updates itself."""

import re

import pytest
from django.utils.timezone import now

from compute.models import Address, Host, Instance, Transfer
from compute.services.common.months import month_of
from regions.models import Region
from tests.compute.at_consoles import signed_in
from tests.compute.pages.visiting import HTMX, owner_of, page_of, restricted_at, text_of
from tests.compute.run_jobs import finish
from tests.compute.worker.scenarios import deployed
from tests.factories import EventFactory, HostMigrationFactory, InstanceTypeFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(world) -> Instance:
    return world.offline(label="web-1", tags=("live shop",), group="shop", private_ip=True)


def state_of(browser, instance: Instance, seen: str = ""):
    return browser.get(page_of(instance, f"state?seen={seen}"), headers=HTMX)


def seen_in(answer) -> str:
    found = re.search(r"state\?seen=(\w+)", text_of(answer))
    assert found
    return found[1]


class TestOverview:
    def test_it_shows_addresses_type_region_and_price(self, world, instance):
        Address.objects.filter(address=instance.ipv4[0]).update(rdns="web.example.com")
        page = text_of(owner_of(world).get(page_of(instance)))
        for part in (
            f"ssh root@{instance.ipv4[0]}", "web.example.com", instance.ipv4[1], "Test 2GB",
            "us-test (United States)", "Test 11", "$5 a month", 'href="/home/instances?tags=live%20shop"',
        ):  # fmt: skip
            assert part in page

    def test_an_instance_without_image_and_tags_is_shown(self, world):
        page = text_of(owner_of(world).get(page_of(world.offline(image=None))))
        assert "<dt>Image</dt><dd>none</dd>" in page
        assert "<dt>Tags</dt><dd>none</dd>" in page

    def test_transfer_of_the_month_is_a_bar(self, world, instance):
        Instance.objects.filter(pk=instance.pk).update(created="2020-01-01T00:00:00Z")
        month = month_of(now())
        Transfer.objects.create(instance=instance, account=world.account, month=month, sent=250_000_000_000)
        page = text_of(owner_of(world).get(page_of(instance)))
        assert "250.00 GB of 1,000 GB" in page
        assert 'max="100" value="25"' in page

    def test_notices_of_the_host_and_the_region_are_shown(self, world, instance):
        browser = owner_of(world)
        HostMigrationFactory(instance=instance, reason="New hardware.")
        HostMigrationFactory(instance=world.offline(label="other"), reason="Not here.")
        Host.objects.update(maintenance=now())
        Region.objects.update(status="outage")
        page = text_of(browser.get(page_of(instance)))
        for part in (
            "New hardware.",
            "web-1 is stopped while its host",
            "Services in us-test may not",
        ):
            assert part in page
        assert "Not here." not in page

    def test_its_facts_are_sent_again_only_if_they_have_changed(self, world, instance):
        browser = owner_of(world)
        page = text_of(browser.get(page_of(instance)))
        seen = re.search(r'<div id="facts"[^>]*\?seen=(\w+)"[^>]*"instance-changed from:body"', page)[1]

        def answer():
            return browser.get(f"{page_of(instance)}?seen={seen}", headers=HTMX)

        assert answer().status_code == 204
        larger = InstanceTypeFactory(id="g6-test-4", label="Test 4GB", price_monthly=10)
        Instance.objects.filter(pk=instance.pk).update(type=larger)
        facts = text_of(answer())
        assert "Test 4GB" in facts
        assert "$10 a month" in facts
        assert 'id="events"' not in facts
        Instance.objects.filter(pk=instance.pk).update(type=world.type)
        assert answer().status_code == 204
        Address.objects.filter(address=instance.ipv4[0]).update(rdns="web.example.com")
        assert "web.example.com" in text_of(answer())

    def test_a_reader_sees_no_verbs(self, instance):
        page = text_of(restricted_at(instance).get(page_of(instance)))
        main = page[page.index("<main") :]
        assert "<form" not in main
        for part in ("/boot", "/console", "/settings", "/delete", "More"):
            assert part not in main

    def test_a_stranger_finds_none(self, instance, stranger):
        browser = signed_in(stranger)
        for page in ("", "graphs", "activity", "events", "state"):
            assert browser.get(page_of(instance, page)).status_code == 404


class TestWithoutASession:
    def test_a_part_leads_the_whole_page_to_sign_in(self, client, instance):
        shown = {**HTMX, "HX-Current-URL": f"http://testserver{page_of(instance, 'network?a=b')}"}
        for part in (page_of(instance, "state?seen=1"), "/home/state", "/home/instances/states?id=1"):
            answer = client.get(part, headers=shown)
            assert answer.status_code == 200
            assert answer.content == b""
            assert answer["HX-Redirect"] == f"/login?next={page_of(instance, 'network%3Fa%3Db')}"

    def test_signing_in_leads_to_no_address_that_takes_only_posts(self, client, instance):
        assert client.post(page_of(instance, "boot"))["Location"] == "/login?next=/home"
        page = page_of(instance, "resize")
        assert client.post(page)["Location"] == f"/login?next={page}"


class TestHead:
    def test_it_is_sent_only_if_it_has_changed(self, world, driver):
        browser, instance = owner_of(world), deployed(world, driver)
        seen = seen_in(browser.get(page_of(instance)))
        assert state_of(browser, instance, seen).status_code == 204
        browser.post(page_of(instance, "shutdown"))
        answer = state_of(browser, instance, seen)
        assert "shutting down" in text_of(answer)
        assert "instance-changed" in answer["HX-Trigger"]
        assert state_of(browser, instance, seen_in(answer)).status_code == 204
        finish(instance, driver)
        assert "offline" in text_of(state_of(browser, instance, seen_in(answer)))

    def test_a_new_event_changes_it(self, world, instance):
        browser = owner_of(world)
        seen = seen_in(browser.get(page_of(instance)))
        EventFactory(account=world.account, entity_type="compute", entity_id=instance.pk, action="compute_update")
        assert state_of(browser, instance, seen).status_code == 200

    def test_asking_for_it_unchanged_takes_four_queries(self, world, instance, django_assert_max_num_queries):
        EventFactory(account=world.account, entity_type="compute", entity_id=instance.pk, action="compute_update")
        browser = owner_of(world)
        seen = seen_in(browser.get(page_of(instance)))
        with django_assert_max_num_queries(4):
            assert state_of(browser, instance, seen).status_code == 204

    def test_verbs_of_a_busy_instance_are_disabled_with_the_reason(self, world, instance):
        Instance.objects.filter(pk=instance.pk).update(status="booting")
        page = text_of(owner_of(world).get(page_of(instance)))
        assert 'id="verb-boot" disabled aria-describedby="why-boot"' in page
        assert 'id="why-boot">Another job runs on the instance. Try again later.' in page

    def test_power_verbs_of_a_running_instance_ask(self, world, driver):
        page = text_of(owner_of(world).get(page_of(deployed(world, driver))))
        for part in ("Yes, reboot", "Yes, shut down", "The instance stays off until somebody boots it."):
            assert part in page
