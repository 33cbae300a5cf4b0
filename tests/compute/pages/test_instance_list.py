"""The list of instances: rows, filters, order, pages, and how it updates itself."""

import re
from html import unescape

import pytest
from django.test import Client

from accounts.models import Event, GlobalGrants, Grant
from compute.filters.instances import InstanceFilterSet, InstanceListFilterSet
from compute.models import Instance
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.factories import (
    EventFactory,
    GrantFactory,
    ImageFactory,
    InstanceFactory,
    InstanceTypeFactory,
    RegionFactory,
)

pytestmark = pytest.mark.django_db

LIST = "/home/instances"


@pytest.fixture
def browser(owner) -> Client:
    return signed_in(owner)


def text_of(answer) -> str:
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def labels(answer) -> list[str]:
    return re.findall(r'<th scope="row"><a href="[^"]+">([^<]*)', text_of(answer))


def options(answer, name: str) -> list[str]:
    """Return the values that a filter offers."""
    select = re.search(rf'<select name="{name}".*?</select>', text_of(answer), re.DOTALL)
    return re.findall(r'<option value="([^"]+)"', select[0]) if select else []


def poller(answer) -> str:
    """Return the address that the page polls."""
    return re.findall(r'hx-get="([^"]+)"', text_of(answer))[0]


class TestRows:
    def test_show_all_facts(self, browser, account):
        instance = InstanceFactory(
            account=account, label="web-1", status="shutting_down", tags=["blue & green"],
            ipv4=["203.0.113.7", "192.168.0.7"], ipv6="2001:db8::7/128",
        )  # fmt: skip
        page = text_of(browser.get(LIST))
        for shown in ("shutting down", "Test 2GB", "us-test", "203.0.113.7", "192.168.0.7", ">2001:db8::7<"):
            assert shown in page
        assert f'href="/home/instances/{instance.pk}"' in page
        assert 'href="?tags=blue+%26+green"' in page

    def test_are_the_user_s_own(self, owner, restricted, stranger, account):
        seen, writable, _ = (InstanceFactory(account=account, label=f"web-{n}") for n in (1, 2, 3))
        GrantFactory(user=restricted, entity_id=seen.pk)
        GrantFactory(user=restricted, entity_id=writable.pk, permissions="read_write")
        assert labels(signed_in(owner).get(LIST)) == ["web-1", "web-2", "web-3"]
        assert labels(signed_in(restricted).get(LIST)) == ["web-1", "web-2"]
        assert labels(signed_in(stranger).get(LIST)) == []

    def test_can_be_chosen_only_by_users_who_may_change_them(self, restricted, account):
        seen, writable = (InstanceFactory(account=account) for _ in range(2))
        GrantFactory(user=restricted, entity_id=seen.pk)
        grant = GrantFactory(user=restricted, entity_id=writable.pk, permissions="read_write")
        page = text_of(signed_in(restricted).get(LIST))
        assert re.findall(r'name="id" value="(\d+)"', page) == [str(writable.pk)]
        assert 'value="boot"' in page
        assert 'value="tag"' not in page
        Grant.objects.filter(pk=grant.pk).update(permissions="read_only")
        page = text_of(signed_in(restricted).get(LIST))
        assert 'name="id"' not in page
        assert 'value="boot"' not in page

    def test_show_the_progress_of_the_job(self, browser, account):
        instance = InstanceFactory(account=account, status="booting")
        EventFactory(
            account=account, action="compute_boot", entity_type="compute", entity_id=instance.pk,
            status=Event.Status.STARTED, percent_complete=40,
        )  # fmt: skip
        assert 'value="40"' in text_of(browser.get(LIST))


class TestFilters:
    @pytest.fixture(autouse=True)
    def _rows(self, account):
        debian = ImageFactory(id="compute/debian", label="Debian")
        InstanceFactory(account=account, label="Web-10%", status="running", tags=["web", "blue"], image=debian)
        InstanceFactory(account=account, label="db-1", tags=["green"], region=RegionFactory(id="eu-test"))
        InstanceFactory(label="theirs", tags=["secret"], region=RegionFactory(id="ap-test"), status="booting")

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("label=WEB", ["Web-10%"]),
            ("label=+web++", ["Web-10%"]),
            ("label=%25", ["Web-10%"]),
            ("status=running", ["Web-10%"]),
            ("region=eu-test", ["db-1"]),
            ("type=g6-test-2", ["db-1", "Web-10%"]),
            ("image=compute/debian", ["Web-10%"]),
            ("tags=blue", ["Web-10%"]),
            ("tags=blue&region=eu-test", []),
            ("label=&status=&tags=", ["db-1", "Web-10%"]),
            ("unknown=1", ["db-1", "Web-10%"]),
        ],
    )
    def test_find_rows(self, browser, query, found):
        assert labels(browser.get(f"{LIST}?{query}")) == found

    def test_offer_the_values_of_the_user_s_own_rows(self, browser):
        page = browser.get(LIST)
        assert options(page, "status") == ["offline", "running"]
        assert options(page, "region") == ["eu-test", "us-test"]
        assert options(page, "image") == ["compute/debian"]
        assert options(page, "type") == ["g6-test-2"]
        assert options(page, "tags") == ["blue", "green", "web"]

    def test_offer_a_restricted_user_the_values_of_the_granted_rows(self, restricted):
        GrantFactory(user=restricted, entity_id=Instance.objects.get(label="db-1").pk)
        assert options(signed_in(restricted).get(LIST), "tags") == ["green"]

    def test_an_unknown_value_matches_nothing_and_can_be_cleared(self, browser):
        page = browser.get(f"{LIST}?tags=gone")
        assert labels(page) == []
        assert "No instances match" in text_of(page)
        assert 'href="/home/instances">Clear the filters' in text_of(page)
        assert "gone" in options(page, "tags")

    def test_a_text_that_cannot_be_stored_is_named_at_its_field(self, browser):
        page = browser.get(f"{LIST}?label=%00")
        assert problems(page, "label") == "Enter a valid value."
        assert labels(page) == []

    def test_have_the_names_of_the_api(self):
        names, api = InstanceListFilterSet.base_filters.keys(), InstanceFilterSet.base_filters.keys()
        assert names - api == {"status", "type"}, "the API has no filters for these"


class TestOrder:
    @pytest.fixture(autouse=True)
    def _rows(self, account):
        InstanceFactory(account=account, label="b", status="running")
        InstanceFactory(account=account, label="A", region=RegionFactory(id="eu-test"))

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("", ["A", "b"]),
            ("?order=label", ["A", "b"]),
            ("?order=-label", ["b", "A"]),
            ("?order=status", ["A", "b"]),
            ("?order=-status", ["b", "A"]),
            ("?order=region", ["A", "b"]),
            ("?order=-region", ["b", "A"]),
            ("?order=created", ["b", "A"]),
            ("?order=-created", ["A", "b"]),
            ("?order=password", ["A", "b"]),
            ("?order=", ["A", "b"]),
        ],
    )
    def test_is_in_the_address(self, browser, query, found):
        assert labels(browser.get(LIST + query)) == found

    def test_the_head_says_which_it_is_and_offers_the_other_direction(self, browser):
        page = text_of(browser.get(f"{LIST}?order=created&label=b&page=1"))
        assert re.findall(r'aria-sort="(\w+)"><a href="([^"]+)"', page) == [
            ("ascending", "?order=-created&label=b"),
        ]


class TestPages:
    @pytest.mark.parametrize(("query", "rows"), [("", 50), ("?page=2", 3), ("?page=99", 3), ("?page=x", 50)])
    def test_have_fifty_rows(self, browser, account, query, rows):
        InstanceFactory.create_batch(53, account=account)
        assert len(labels(browser.get(LIST + query))) == rows

    def test_links_keep_the_filters(self, browser, account):
        InstanceFactory.create_batch(51, account=account, status="running")
        assert 'href="?status=running&page=2"' in text_of(browser.get(f"{LIST}?status=running"))


class TestNoRows:
    def test_the_owner_may_create_one(self, browser):
        page = text_of(browser.get(LIST))
        assert "You have no instances yet" in page
        assert page.count('href="/home/instances/new"') == 1

    def test_a_restricted_user_needs_the_grant(self, restricted, account):
        InstanceFactory(account=account)
        assert "/home/instances/new" not in text_of(signed_in(restricted).get(LIST))
        GlobalGrants.objects.filter(user=restricted).update(add_computes=True)
        assert "/home/instances/new" in text_of(signed_in(restricted).get(LIST))


class TestUpdates:
    def test_nothing_is_sent_until_something_changes(self, browser, account):
        instance = InstanceFactory(account=account, label="web-1")
        address = poller(browser.get(LIST))
        assert browser.get(address).status_code == 204
        Instance.objects.filter(pk=instance.pk).update(status="running", ipv4=["203.0.113.9"])
        part = browser.get(address)
        assert f'id="status-{instance.pk}" hx-swap-oob="true"' in text_of(part)
        assert "running" in text_of(part)
        assert "203.0.113.9" in text_of(part)
        assert browser.get(poller(part)).status_code == 204

    def test_type_and_region_follow_a_resize_and_a_move(self, browser, account):
        instance = InstanceFactory(account=account)
        address = poller(browser.get(LIST))
        larger, elsewhere = InstanceTypeFactory(id="g6-test-4", label="Test 4GB"), RegionFactory(id="eu-test")
        Instance.objects.filter(pk=instance.pk).update(type=larger)
        part = browser.get(address)
        assert f'<div id="type-{instance.pk}" hx-swap-oob="true">Test 4GB</div>' in text_of(part)
        Instance.objects.filter(pk=instance.pk).update(region=elsewhere)
        part = browser.get(poller(part))
        assert f'<div id="region-{instance.pk}" hx-swap-oob="true">eu-test</div>' in text_of(part)
        assert browser.get(poller(part)).status_code == 204

    def test_rows_that_are_gone_leave_the_page(self, browser, account):
        gone, other = (InstanceFactory(account=account) for _ in range(2))
        address = poller(browser.get(LIST))
        Instance.objects.filter(pk=gone.pk).delete()
        part = browser.get(address)
        assert f'id="instance-{gone.pk}" hx-swap-oob="delete"' in text_of(part)
        assert f"id={gone.pk}" not in poller(part)
        assert f"id={other.pk}" in poller(part)

    def test_reload_the_page_when_all_its_rows_are_gone(self, browser, account):
        InstanceFactory.create_batch(2, account=account)
        address = poller(browser.get(LIST))
        Instance.objects.all().delete()
        assert browser.get(address)["HX-Refresh"] == "true"
        assert "/states" not in text_of(browser.get(LIST))

    def test_say_nothing_about_the_rows_of_others(self, stranger, restricted, account):
        instance = InstanceFactory(account=account, ipv4=["203.0.113.9"])
        for user in (stranger, restricted):
            part = text_of(signed_in(user).get(f"{LIST}/states?id={instance.pk}"))
            assert "203.0.113.9" not in part
            assert "offline" not in part

    def test_need_two_queries_in_addition_to_session_and_user(self, browser, account, django_assert_num_queries):
        for _ in range(2):
            InstanceFactory.create_batch(5, account=account)
            address = poller(browser.get(LIST))
            with django_assert_num_queries(4):
                assert browser.get(address).status_code == 204

    def test_wrong_ids_are_left_out(self, browser):
        assert browser.get(f"{LIST}/states?id=x&id=-1&id={10**30}").status_code == 200


def test_visitors_sign_in_first(client):
    for address in (LIST, f"{LIST}/states", f"{LIST}/tag?id=1", f"{LIST}/delete?id=1"):
        answer = client.get(address)
        assert answer.status_code == 302
        assert answer["Location"].startswith("/login?next=")
