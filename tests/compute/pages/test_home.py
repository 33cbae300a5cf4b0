"""Home: its content for each user, and its polls, which cost nothing while nothing changed."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now

from accounts.models import Event
from compute.models import Host, Instance
from regions.models import Region
from tests.compute.at_consoles import signed_in
from tests.factories import EventFactory, GlobalGrantsFactory, GrantFactory, InstanceFactory

pytestmark = pytest.mark.django_db
Status = Instance.Status


def text_of(answer) -> str:
    assert answer.status_code == 200, answer
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def seen_in(answer) -> str:
    return re.search(r'/home/state\?seen=(\w+)"', answer.content.decode())[1]


class TestHome:
    def test_a_new_account_is_shown_the_one_button(self, owner):
        page = signed_in(owner).get("/home")
        assert "You have no instances yet" in text_of(page)
        assert page.content.decode().count(f'href="{reverse("instance-new")}"') == 1

    @pytest.mark.parametrize("page", ["/home", "/home/instances"])
    def test_a_user_without_grants_is_told_to_ask_an_unrestricted_user(self, restricted, account, page):
        InstanceFactory(account=account)
        answer = signed_in(restricted).get(page)
        assert "You see no instances" in text_of(answer)
        assert "instances that you have no grant on. Ask an unrestricted user" in text_of(answer)
        assert reverse("instance-new") not in answer.content.decode()

    @pytest.mark.parametrize("page", ["/home", "/home/instances"])
    def test_a_restricted_user_with_the_grant_has_the_button(self, account, page):
        user = GlobalGrantsFactory(user__account=account, user__username="adder", add_computes=True).user
        answer = signed_in(user).get(page)
        assert "You see no instances" in text_of(answer)
        assert reverse("instance-new") in answer.content.decode()

    def test_instances_are_counted_by_status(self, owner, account):
        InstanceFactory.create_batch(3, account=account, status=Status.RUNNING)
        InstanceFactory(account=account, status=Status.OFFLINE)
        InstanceFactory(status=Status.RUNNING)
        page = signed_in(owner).get("/home")
        assert "3 running" in text_of(page)
        assert "1 offline" in text_of(page)
        assert 'href="/home/instances?status=running"' in page.content.decode()

    def test_a_restricted_user_sees_the_granted_instances_alone(self, restricted, account):
        InstanceFactory.create_batch(2, account=account, status=Status.RUNNING)
        GrantFactory(user=restricted, entity_id=Instance.objects.first().pk)
        assert "1 running" in text_of(signed_in(restricted).get("/home"))

    def test_outages_stand_first(self, owner, account):
        instance = InstanceFactory(account=account, label="web-1", status=Status.RUNNING)
        Host.objects.filter(pk=instance.host_id).update(unreachable_since=now() - timedelta(hours=1))
        Region.objects.filter(pk=instance.region_id).update(status=Region.Status.OUTAGE)
        text = text_of(signed_in(owner).get("/home"))
        assert "Its host does not answer. web-1 may not be available" in text
        assert f"Services in {instance.region_id} may not be available" in text

    def test_failed_events_need_attention_and_recent_ones_are_listed(self, owner, account):
        EventFactory(account=account, action="compute_boot", status="failed", message="The kernel is missing.")
        EventFactory(account=account, action="account_update")
        text = text_of(signed_in(owner).get("/home"))
        assert "Failed in the last two days" in text
        assert "The kernel is missing." in text
        assert "The account was changed." in text

    def test_times_are_those_of_the_user(self, owner, account):
        owner.timezone = "Asia/Tokyo"
        owner.save(update_fields=["timezone"])
        event = EventFactory(account=account)
        Event.objects.filter(pk=event.pk).update(created=now().replace(hour=20, minute=5, second=0))
        page = signed_in(owner).get("/home").content.decode()
        assert re.search(r'title="[\d-]+ 20:05:00 UTC">[\d-]+ 05:05<', page)

    def test_staff_without_an_account_are_led_to_their_profile(self, staff):
        assert signed_in(staff).get("/home")["Location"] == "/home/profile"

    def test_nobody_sees_it_without_signing_in(self, client):
        assert client.get("/home")["Location"] == "/login?next=/home"


class TestItMoves:
    def test_nothing_is_sent_while_nothing_changes(self, owner, account):
        InstanceFactory(account=account)
        browser = signed_in(owner)
        seen = seen_in(browser.get("/home"))
        again = browser.get(f"/home/state?seen={seen}")
        assert (again.status_code, again.content) == (204, b"")

    def test_a_changed_status_is_sent(self, owner, account):
        instance = InstanceFactory(account=account, status=Status.RUNNING)
        browser = signed_in(owner)
        seen = seen_in(browser.get("/home"))
        Instance.objects.filter(pk=instance.pk).update(status=Status.OFFLINE)
        answer = browser.get(f"/home/state?seen={seen}")
        assert "1 offline" in text_of(answer)
        assert seen_in(answer) != seen

    def test_progress_is_sent(self, owner, account):
        event = EventFactory(account=account, status="started", percent_complete=10)
        browser = signed_in(owner)
        seen = seen_in(browser.get("/home"))
        Event.objects.filter(pk=event.pk).update(percent_complete=20)
        assert browser.get(f"/home/state?seen={seen}").status_code == 200
