"""Settings of an instance in a browser, and deleting it."""

import re
from html import unescape

import pytest

from compute.models import Instance
from tests.accounts.pages.browsers import problems
from tests.compute.pages.visiting import HTMX, last_event, owner_of, page_of, restricted_at, text_of
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import deployed

pytestmark = pytest.mark.django_db

ALERTS = {
    "alerts.cpu": "150", "alerts.io": "0", "alerts.network_in": "20", "alerts.network_out": "30",
    "alerts.transfer_quota": "90",
}  # fmt: skip


@pytest.fixture
def instance(world) -> Instance:
    return world.offline(label="web-1", group="shop", tags=("live",))


class TestSettings:
    def test_label_group_and_tags_are_saved(self, world, instance):
        browser = owner_of(world)
        page = text_of(browser.get(page_of(instance, "settings")))
        for value in ("web-1", "shop", "live"):
            assert f'value="{value}"' in page
        sent = {"label": "web-2", "group": "", "tags": "live, test"}
        assert browser.post(page_of(instance, "settings"), sent)["Location"] == page_of(instance, "settings")
        instance.refresh_from_db()
        assert (instance.label, instance.group, instance.tags) == ("web-2", "", ["live", "test"])
        assert last_event(instance) == "compute_update"

    @pytest.mark.parametrize("tag", ["shop, old", '"quoted"', 'the "old", one', 'an inner "quote"'])
    def test_no_tag_is_split_or_changed_by_a_form_that_shows_it(self, world, instance, tag):
        Instance.objects.update(tags=[tag, "live"])
        browser = owner_of(world)
        page = text_of(browser.get(page_of(instance, "settings")))
        shown = unescape(re.search(r'name="tags" value="([^"]*)"', page)[1])
        browser.post(page_of(instance, "settings"), {"label": "web-2", "group": "shop", "tags": shown})
        instance.refresh_from_db()
        assert (instance.label, instance.tags) == ("web-2", [tag, "live"])

    def test_a_quote_that_does_not_end_is_part_of_a_tag(self, world, instance):
        sent = {"label": "web-1", "group": "shop", "tags": '"live, "a"b, ,"one, two" ,\ttest'}
        owner_of(world).post(page_of(instance, "settings"), sent)
        instance.refresh_from_db()
        assert instance.tags == ['"live', '"a"b', "one, two", "test"]

    def test_all_tags_can_be_removed(self, world, instance):
        owner_of(world).post(page_of(instance, "settings"), {"label": "web-1", "group": "shop", "tags": ""})
        instance.refresh_from_db()
        assert instance.tags == []

    def test_alerts_are_saved(self, world, instance):
        owner_of(world).post(page_of(instance, "settings/alerts"), ALERTS)
        instance.refresh_from_db()
        assert (instance.alert_cpu, instance.alert_io, instance.alert_transfer_quota) == (150, 0, 90)
        assert (instance.label, instance.tags, instance.watchdog_enabled) == ("web-1", ["live"], True)

    def test_the_watchdog_is_turned_off_and_on(self, world, instance):
        browser = owner_of(world)
        for sent, enabled in (({}, False), ({"watchdog_enabled": "on"}, True)):
            browser.post(page_of(instance, "settings/watchdog"), sent)
            instance.refresh_from_db()
            assert instance.watchdog_enabled is enabled

    @pytest.mark.parametrize(
        ("page", "sent", "field", "reason"),
        [
            ("settings", {"label": ""}, "label", "Length must be 3-64 characters"),
            ("settings", {"label": "web--1"}, "label", "letters, digits"),
            ("settings", {"label": "taken"}, "label", "Label must be unique among your instances"),
            ("settings", {"label": "web-1", "tags": "ab"}, "tags", ""),
            ("settings/alerts", {**ALERTS, "alerts.cpu": "x"}, "alerts.cpu", '" is not valid'),
            ("settings/alerts", {**ALERTS, "alerts.io": "-1"}, "alerts.io", ""),
            ("settings/alerts", {**ALERTS, "alerts.io": ""}, "alerts.io", ""),
        ],
    )
    def test_the_reason_stands_at_the_field(self, world, instance, page, sent, field, reason):
        world.offline(label="taken")
        answer = owner_of(world).post(page_of(instance, page), sent)
        assert reason in problems(answer, field) != ""
        assert 'id="id_watchdog_enabled" checked' in text_of(answer), "the other forms are shown as they are"
        instance.refresh_from_db()
        assert (instance.label, instance.alert_cpu) == ("web-1", 180)

    def test_restricted_users_have_no_tags_to_change(self, instance):
        browser = restricted_at(instance, "read_write")
        assert 'name="tags"' not in text_of(browser.get(page_of(instance, "settings")))
        browser.post(page_of(instance, "settings"), {"label": "web-2", "group": "", "tags": "x"})
        instance.refresh_from_db()
        assert (instance.label, instance.tags) == ("web-2", ["live"])

    def test_settings_change_while_a_job_runs(self, world, instance):
        Instance.objects.filter(pk=instance.pk).update(status="booting")
        owner_of(world).post(page_of(instance, "settings"), {"label": "web-2"})
        instance.refresh_from_db()
        assert instance.label == "web-2"


class TestDelete:
    def test_the_label_is_typed(self, world, instance):
        browser = owner_of(world)
        for wrong in ("", "web", "WEB-1"):
            answer = browser.post(page_of(instance, "delete"), {"label": wrong})
            assert problems(answer, "label") == "Type the label of the instance: web-1"
        instance.refresh_from_db()
        assert instance.status == "offline"

    def test_pages_of_a_deleted_instance_lead_to_the_list(self, world, driver):
        browser, instance = owner_of(world), deployed(world, driver, label="web-1")
        answer = browser.post(page_of(instance, "delete"), {"label": "web-1"}, follow=True)
        assert answer.redirect_chain == [("/home/instances", 302)]
        assert "web-1 is being deleted." in text_of(answer)
        assert last_event(instance) == "compute_delete"
        assert "deleting" in text_of(browser.get(page_of(instance)))
        state = page_of(instance, "state")
        job = instance.jobs.get(finished_at=None)
        assert browser.get(state, headers=HTMX).status_code == 200
        work(job, driver)
        answer = browser.get(state, headers=HTMX)
        assert (answer.status_code, answer["HX-Redirect"]) == (200, "/home/instances")
        assert "has been deleted" in text_of(browser.get("/home/instances"))
        assert browser.get(state).status_code == 404
        assert browser.get(page_of(instance)).status_code == 404
