"""The pages of tags: the list with its numbers, a tag with its objects, a new tag, and deletion."""

import pytest
from django.test import Client

from accounts.models import Account
from compute.models import Domain, Firewall, Instance, Volume
from tags.models import Tag
from tags.services import set_tags
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import text
from tests.factories import (
    DomainFactory,
    FirewallFactory,
    GlobalGrantsFactory,
    GrantFactory,
    InstanceFactory,
    NodeBalancerFactory,
    VolumeFactory,
)

pytestmark = pytest.mark.django_db

LIST, NEW = "/home/tags", "/home/tags/new"


@pytest.fixture
def browser(owner) -> Client:
    return signed_in(owner)


@pytest.fixture
def instance(account) -> Instance:
    return InstanceFactory(account=account, label="web-1")


@pytest.fixture
def volume(account) -> Volume:
    return VolumeFactory(account=account, label="films")


def tag_of(account: Account, label: str, **objects: int) -> Tag:
    for kind, pk in objects.items():
        set_tags(account.pk, kind, pk, [label])
    return Tag.objects.get_or_create(account=account, label=label)[0]


def numbers(browser: Client, query: str = "") -> dict[str, int]:
    return {row.object.label: row.object.objects for row in browser.get(LIST + query).context["rows"]}


def actions(account: Account) -> list[str]:
    return list(account.events.order_by("pk").values_list("action", flat=True))


class TestList:
    def test_each_tag_has_the_number_of_its_objects(self, browser, account, instance, volume):
        tag_of(account, "shop", compute=instance.pk, volume=volume.pk)
        tag_of(account, "Idle")
        assert numbers(browser) == {"Idle": 0, "shop": 2}
        assert list(numbers(browser, "?order=-objects")) == ["shop", "Idle"]
        assert numbers(browser, "?label=SHO") == {"shop": 2}
        assert "No tags match" in text(browser.get(f"{LIST}?label=nothing"))

    def test_an_empty_list_says_how_to_get_one(self, browser, restricted):
        assert f'href="{NEW}"' in text(browser.get(LIST))
        shown = text(signed_in(restricted).get(LIST))
        assert "You see no tags" in shown
        assert NEW not in shown

    def test_restricted_users_see_the_tags_of_their_objects(self, account, stranger, instance, volume):
        tag_of(account, "shop", compute=instance.pk, volume=volume.pk)
        tag_of(account, "Idle")
        user = GlobalGrantsFactory(user__account=account).user
        GrantFactory(user=user, entity_id=instance.pk)
        assert numbers(signed_in(user)) == {"shop": 1}
        assert "Actions of shop" not in text(signed_in(user).get(LIST))
        assert numbers(signed_in(stranger)) == {}


class TestOne:
    def test_objects_are_grouped_by_kind_with_their_pages(self, browser, account, instance, volume):
        firewall = FirewallFactory(account=account, label="wall")
        tag = tag_of(account, "shop", compute=instance.pk, volume=volume.pk, firewall=firewall.pk)
        answer = browser.get(f"{LIST}/{tag.pk}")
        found = [(group.noun, [label for label, _ in group.objects]) for group in answer.context["groups"]]
        assert found == [("Instances", ["web-1"]), ("Volumes", ["films"]), ("Firewalls", ["wall"])]
        assert f'<a href="/home/instances/{instance.pk}">web-1</a>' in text(answer)

    def test_a_long_list_says_how_many_there_are(self, browser, account, monkeypatch):
        monkeypatch.setattr("tags.pages.one_tag.MAX_SHOWN", 2)
        for made in InstanceFactory.create_batch(5, account=account):
            tag = tag_of(account, "shop", compute=made.pk)
        assert "3 more." in text(browser.get(f"{LIST}/{tag.pk}"))

    def test_others_do_not_see_it(self, account, stranger, restricted, instance, volume):
        tag = tag_of(account, "shop", compute=instance.pk, volume=volume.pk)
        page = f"{LIST}/{tag.pk}"
        for user in (stranger, restricted):
            assert signed_in(user).get(page).status_code == 404
        GrantFactory(user=restricted, entity_id=instance.pk)
        shown = text(signed_in(restricted).get(page))
        assert "web-1" in shown
        assert "films" not in shown
        assert f"{page}/delete" not in shown

    def test_it_is_deleted_and_its_objects_stay(self, browser, account, instance):
        tag = tag_of(account, "a/b {x}", compute=instance.pk)
        Instance.objects.update(tags=[tag.label])
        shown = text(browser.get(f"{LIST}/{tag.pk}/delete"))
        assert "Delete the tag a/b {x}" in shown
        assert "The tag is removed from 1 object." in shown
        assert "The tag a/b {x} was deleted." in text(browser.post(f"{LIST}/{tag.pk}/delete", follow=True))
        assert Instance.objects.get().tags == []
        assert actions(account) == ["tag_delete"]
        assert browser.post(f"{LIST}/{tag.pk}/delete").status_code == 404

    def test_only_unrestricted_users_change_tags(self, account, stranger, instance):
        tag = tag_of(account, "shop", compute=instance.pk)
        user = GlobalGrantsFactory(user__account=account).user
        GrantFactory(user=user, entity_id=instance.pk, permissions="read_write")
        for page in (NEW, f"{LIST}/{tag.pk}/delete"):
            assert signed_in(user).get(page).status_code == 403
            assert signed_in(user).post(page, {"label": "mine"}).status_code == 403
        assert signed_in(stranger).post(f"{LIST}/{tag.pk}/delete").status_code == 404
        assert Tag.objects.get() == tag


class TestNew:
    def test_a_tag_is_put_on_objects_of_each_kind(self, browser, account, instance, volume):
        domain, balancer = DomainFactory(account=account), NodeBalancerFactory(account=account)
        shown = text(browser.get(NEW))
        assert "web-1" in shown
        assert "films" in shown
        given = {
            "label": "shop", "computes": [instance.pk], "volumes": [volume.pk], "domains": [domain.pk],
            "nodebalancers": [balancer.pk],
        }  # fmt: skip
        answer = browser.post(NEW, given, follow=True)
        assert "The tag shop was created." in text(answer)
        assert answer.redirect_chain == [(f"{LIST}/{Tag.objects.get().pk}", 302)]
        for model in (Instance, Volume, Domain):
            assert model.objects.get().tags == ["shop"]
        assert not Firewall.objects.exists()
        assert actions(account) == ["tag_create"]

    @pytest.mark.parametrize(
        ("label", "reason"),
        [
            ("", "Label is required"),
            ("xy", "Length must be 3-50 characters"),
            ("x" * 51, "Length must be 3-50 characters"),
            ("a\0bc", "Label is not valid"),
            ("taken", "This tag exists already."),
        ],
    )
    def test_a_wrong_label_is_refused_at_its_field(self, browser, account, instance, label, reason):
        tag_of(account, "taken")
        answer = browser.post(NEW, {"label": label, "computes": [instance.pk]})
        assert problems(answer, "label") == reason
        assert "checked" in text(answer), "The choice is kept."
        assert actions(account) == []

    @pytest.mark.parametrize("key", ["x", "0", "9" * 30])
    def test_an_object_has_to_be_of_the_account(self, browser, stranger, key):
        other = InstanceFactory(account=stranger.account, label="theirs")
        assert "theirs" not in text(browser.get(NEW))
        for wanted in (key, str(other.pk)):
            assert problems(browser.post(NEW, {"label": "shop", "computes": [wanted]}), "computes")
        assert not Tag.objects.exists()

    def test_a_long_list_is_cut(self, browser, account, monkeypatch):
        monkeypatch.setattr("tags.pages.tag_list.MAX_OFFERED", 2)
        InstanceFactory.create_batch(3, account=account)
        assert "These are the first 2." in text(browser.get(NEW))
