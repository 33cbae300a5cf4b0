"""Verbs of several instances at once."""

import re
from html import unescape

import pytest

from accounts.models import Event
from compute.models import Instance
from compute.pages.selections import MAX_CHOSEN
from tests.accounts.pages.browsers import careful, problems
from tests.compute.at_consoles import signed_in
from tests.factories import ConfigFactory, DiskFactory, GrantFactory, InstanceFactory
from tests.world import World

pytestmark = pytest.mark.django_db

LIST, SELECTED = "/home/instances", "/home/instances/selected"


@pytest.fixture
def web_1(account) -> Instance:
    return bootable(account, "web-1")


@pytest.fixture
def web_2(account) -> Instance:
    return bootable(account, "web-2")


def bootable(account, label: str) -> Instance:
    instance = InstanceFactory(account=account, label=label)
    ConfigFactory(instance=instance, disk=DiskFactory(instance=instance))
    return instance


def post(browser, verb: str, *chosen: Instance, back: str = "") -> object:
    ids = [instance.pk for instance in chosen]
    return browser.post(f"{SELECTED}?back={back}", {"verb": verb, "id": ids}, follow=True)


def ids(*chosen: Instance) -> str:
    return "&".join(f"id={instance.pk}" for instance in chosen)


def alerts(answer) -> list[str]:
    """Return the messages of a page as text."""
    shown = [str(message) for message in answer.context["messages"]]
    return [" ".join(unescape(re.sub(r"<[^>]+>", " ", each)).split()) for each in shown]


def statuses() -> dict[str, str]:
    return dict(Instance.objects.values_list("label", "status"))


class TestPower:
    @pytest.mark.parametrize(
        ("verb", "before", "after", "message"),
        [
            ("boot", "offline", "booting", "Booting: web-1, web-2"),
            ("reboot", "running", "rebooting", "Rebooting: web-1, web-2"),
            ("shutdown", "running", "shutting_down", "Shutting down: web-1, web-2"),
        ],
    )
    def test_each_chosen_instance_gets_its_job_and_event(self, owner, web_1, web_2, verb, before, after, message):
        Instance.objects.update(status=before)
        bootable(owner.account, "other")
        assert alerts(post(signed_in(owner), verb, web_1, web_2)) == [message]
        assert statuses() == {"web-1": after, "web-2": after, "other": "offline"}
        events = Event.objects.filter(action=f"compute_{verb}", username="owner")
        assert set(events.values_list("entity_id", flat=True)) == {web_1.pk, web_2.pk}

    def test_refusals_are_named_and_stop_no_other_instance(self, owner, account, web_1, web_2):
        Instance.objects.filter(pk=web_1.pk).update(status="migrating")
        empty = InstanceFactory(account=account, label="<empty>")
        answer = post(signed_in(owner), "boot", web_1, empty, web_2)
        assert alerts(answer) == [
            "Booting: web-2",
            "Not booted: web-1: Another job runs on the instance. Try again later. <empty>: This instance has no "
            "configuration profile to boot.",
        ]
        assert statuses() == {"web-1": "migrating", "<empty>": "offline", "web-2": "booting"}

    @pytest.mark.parametrize(
        ("verb", "status", "messages"),
        [
            ("boot", "running", ["Booting: web-2", "Running already: web-1"]),
            ("shutdown", "offline", ["Shutting down: web-2", "Off already: web-1"]),
        ],
    )
    def test_instances_that_need_no_job_are_named_apart(self, owner, web_1, web_2, verb, status, messages):
        Instance.objects.filter(pk=web_1.pk).update(status=status)
        Instance.objects.filter(pk=web_2.pk).update(status="running" if verb == "shutdown" else "offline")
        assert alerts(post(signed_in(owner), verb, web_1, web_2)) == messages
        assert statuses()["web-1"] == status

    def test_others_instances_do_not_exist(self, stranger, web_1):
        assert alerts(post(signed_in(stranger), "boot", web_1)) == [f"Not booted: Instance {web_1.pk}: Not found"]
        assert statuses() == {"web-1": "offline"}

    def test_a_restricted_user_needs_read_write(self, restricted, web_1, web_2):
        GrantFactory(user=restricted, entity_id=web_1.pk)
        GrantFactory(user=restricted, entity_id=web_2.pk, permissions="read_write")
        answer = post(signed_in(restricted), "boot", web_1, web_2)
        assert alerts(answer) == ["Booting: web-2", "Not booted: web-1: Unauthorized"]

    def test_the_list_keeps_its_filters(self, owner, web_1):
        answer = post(signed_in(owner), "boot", web_1, back="label%3Dweb%26page%3D2")
        assert answer.redirect_chain == [(f"{LIST}?label=web&page=2", 302)]

    def test_the_way_back_leads_to_no_other_site(self, owner, web_1):
        answer = post(signed_in(owner), "boot", web_1, back="//evil.example/%0d%0aX: y")
        assert answer.redirect_chain == [(f"{LIST}?%2F%2Fevil.example%2F%0D%0AX%3A+y=", 302)]

    def test_a_choice_is_needed_and_bounded(self, owner, web_1):
        browser = signed_in(owner)
        assert alerts(post(browser, "boot")) == ["Choose at least one instance."]
        many = browser.post(SELECTED, {"verb": "boot", "id": range(web_1.pk, web_1.pk + 51)}, follow=True)
        assert alerts(many) == [f"Choose at most {MAX_CHOSEN} instances."]
        assert statuses() == {"web-1": "offline"}

    def test_an_unknown_verb_is_refused(self, owner, web_1):
        assert post(signed_in(owner), "explode", web_1).status_code == 400

    def test_a_get_of_the_verb_leads_back_to_the_list(self, owner):
        answer = signed_in(owner).get(SELECTED, follow=True)
        assert answer.redirect_chain == [(LIST, 302)]

    def test_a_forged_form_is_refused(self, owner, web_1):
        answer = careful(signed_in(owner)).post(SELECTED, {"verb": "boot", "id": web_1.pk})
        assert answer.status_code == 403
        assert statuses() == {"web-1": "offline"}


class TestDelete:
    def test_it_asks_and_lists_the_labels(self, owner, web_1, web_2):
        answer = post(signed_in(owner), "delete", web_1, web_2, back="label%3Dweb")
        assert answer.redirect_chain == [(f"{LIST}/delete?{ids(web_1, web_2)}&back=label%3Dweb", 302)]
        page = answer.content.decode()
        assert "<li>web-1</li><li>web-2</li>" in page
        assert "Delete 2 instances" in page
        assert f'href="{LIST}?label=web"' in page
        assert statuses() == {"web-1": "offline", "web-2": "offline"}

    def test_it_deletes_after_the_answer(self, owner, web_1, web_2):
        answer = signed_in(owner).post(f"{LIST}/delete?{ids(web_1, web_2)}", follow=True)
        assert alerts(answer) == ["Deleting: web-1, web-2"]
        assert statuses() == {"web-1": "deleting", "web-2": "deleting"}
        assert Event.objects.filter(action="compute_delete").count() == 2

    def test_read_only_instances_are_neither_offered_nor_deleted(self, restricted, web_1):
        GrantFactory(user=restricted, entity_id=web_1.pk)
        browser, address = signed_in(restricted), f"{LIST}/delete?{ids(web_1)}"
        page = browser.get(address).content.decode()
        assert "web-1" not in page
        assert "You may not delete any of the chosen instances." in page
        assert alerts(browser.post(address, follow=True)) == ["Not deleted: web-1: Unauthorized"]
        assert statuses() == {"web-1": "offline"}


class TestTags:
    def test_instances_that_are_gone_are_not_tagged(self, owner):
        page = signed_in(owner).get(f"{LIST}/tag?id=999").content.decode()
        assert "You may not tag any of the chosen instances." in page
        assert all("disabled" in button for button in re.findall(r'<button[^>]*name="verb"[^>]*>', page))

    @pytest.fixture
    def tagged(self, world: World) -> Instance:
        return world.offline(label="web-1", tags=("web", "blue"))

    @pytest.fixture
    def browser(self, world):
        return signed_in(world.account.users.get())

    def test_a_tag_is_added_to_each(self, world, browser, tagged):
        other = world.offline(label="web-2")
        address = f"{LIST}/tag?{ids(tagged, other)}"
        page = browser.get(address).content.decode()
        assert '<option value="blue">' in page
        answer = browser.post(address, {"tag": "green", "verb": "add"}, follow=True)
        assert alerts(answer) == ["Tag green added: web-1, web-2"]
        assert list(Instance.objects.order_by("label").values_list("tags", flat=True)) == [
            ["web", "blue", "green"], ["green"],
        ]  # fmt: skip
        assert Event.objects.filter(action="compute_update").count() == 2

    def test_a_tag_is_removed_from_those_that_have_it(self, world, browser, tagged):
        other = world.offline(label="web-2", tags=("web",))
        answer = browser.post(f"{LIST}/tag?{ids(tagged, other)}", {"tag": "blue", "verb": "remove"}, follow=True)
        assert alerts(answer) == ["Tag blue removed: web-1, web-2"]
        assert list(Instance.objects.order_by("label").values_list("tags", flat=True)) == [["web"], ["web"]]
        assert Event.objects.filter(action="compute_update").count() == 1

    @pytest.mark.parametrize("tag", ["ab", "a" * 51])
    def test_the_reason_stands_at_the_field(self, browser, tagged, tag):
        answer = browser.post(f"{LIST}/tag?{ids(tagged)}", {"tag": tag, "verb": "add"})
        assert problems(answer, "tag") == "Length must be 3-50 characters"
        assert f'value="{tag}"' in answer.content.decode()

    def test_restricted_users_change_no_tags(self, restricted, web_1):
        GrantFactory(user=restricted, entity_id=web_1.pk, permissions="read_write")
        browser, address = signed_in(restricted), f"{LIST}/tag?{ids(web_1)}"
        assert browser.get(address).status_code == 403
        assert browser.post(address, {"tag": "green"}).status_code == 403
