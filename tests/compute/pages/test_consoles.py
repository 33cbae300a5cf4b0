"""The pages of consoles: their content for each user, their tickets, and what they allow browsers."""

import json
from urllib.parse import urlsplit

import pytest
from django.contrib.admin.models import LogEntry

from compute.models import ConsoleSession, Instance
from compute.services import consoles
from config.limits.rates import forget
from tests.accounts.pages.browsers import careful
from tests.compute.at_consoles import signed_in, staff_session, user_session
from tests.factories import GrantFactory, InstanceFactory, StaffFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(account) -> Instance:
    return InstanceFactory(account=account, label="web-1", status=Instance.Status.RUNNING)


def page_of(instance: Instance) -> str:
    return f"/home/instances/{instance.pk}/console"


def staff_page_of(instance: Instance) -> str:
    return f"/admin/compute/instance/{instance.pk}/console/"


def ask(browser, address: str, **wishes):
    return browser.post(address, json.dumps(wishes), content_type="application/json")


def ticket_in(answer) -> str:
    assert answer.status_code == 200, answer.content
    return answer.json()["address"].rpartition("/")[2]


class TestThePage:
    def test_it_lets_its_script_call_this_site_and_the_streams_alone(self, owner, instance, settings):
        settings.STREAM_URL = "https://streams.example.com"
        answer = signed_in(owner).get(page_of(instance))
        policy = answer["Content-Security-Policy"]
        assert "connect-src 'self' wss://streams.example.com" in policy
        assert "script-src 'self';" in policy
        assert "default-src 'none'" in policy
        assert "no-store" in answer["Cache-Control"]
        assert 'data-begin="now"' in answer.content.decode()

    def test_an_address_leads_to_the_page_s_own_site_without_one_of_streams(self, owner, instance, settings):
        settings.STREAM_URL = ""
        answer = ask(signed_in(owner), page_of(instance))
        assert answer.json()["address"].startswith("ws://testserver/consoles/")
        assert consoles.admit(ticket_in(answer), "http://testserver").user == owner

    def test_others_find_none(self, stranger, restricted, instance):
        for user in (stranger, restricted):
            browser = signed_in(user)
            for answer in (browser.get(page_of(instance)), ask(browser, page_of(instance))):
                assert answer.status_code == 404

    def test_readers_are_refused_as_by_the_api(self, restricted, client_for, instance):
        GrantFactory(user=restricted, entity_id=instance.pk)
        browser, api = signed_in(restricted), client_for(restricted)
        assert api.post(f"/v4/compute/instances/{instance.pk}/boot").status_code == 403
        for answer in (browser.get(page_of(instance)), ask(browser, page_of(instance))):
            assert answer.status_code == 403
        assert page_of(instance) not in browser.get(f"/home/instances/{instance.pk}").content.decode()
        assert not ConsoleSession.objects.exists()

    def test_a_visitor_has_to_sign_in(self, client, instance):
        for answer in (client.get(page_of(instance)), ask(client, page_of(instance))):
            assert answer.status_code == 302
            assert urlsplit(answer["Location"]).path == "/login"

    def test_a_ticket_needs_the_page_s_own_token(self, owner, instance):
        assert ask(careful(signed_in(owner)), page_of(instance)).status_code == 403
        assert not ConsoleSession.objects.exists()

    @pytest.mark.parametrize("body", ["x", "[]", "1", '"x"', "{"])
    def test_a_body_that_is_no_object_is_refused(self, owner, instance, body):
        answer = signed_in(owner).post(page_of(instance), body, content_type="application/json")
        assert answer.status_code == 400
        assert answer.json()["reason"] == "The body must be a JSON object."

    def test_a_refusal_offers_to_take_over(self, owner, staff, instance, settings):
        browser = signed_in(owner)
        staff_session(staff, instance)
        answer = ask(browser, page_of(instance))
        assert (answer.status_code, answer.json()["occupied"]) == (400, True)
        assert ticket_in(ask(browser, page_of(instance), take_over=True))
        Instance.objects.update(status="offline")
        assert ask(browser, page_of(instance)).json() == {
            "reason": "The instance is off.",
            "occupied": False,
            "again": True,
        }
        Instance.objects.update(status="running")
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "console": "1/60"}
        forget()
        ask(browser, page_of(instance), take_over=True)
        answer = ask(browser, page_of(instance), take_over=True)
        assert answer.status_code == 429
        assert 0 < int(answer["Retry-After"]) <= 60
        forget()

    def test_a_security_key_is_remembered_until_the_end_of_the_session(self, owner, instance):
        owner.lish_auth_method = "keys_only"
        owner.save()
        browser = signed_in(owner)
        assert ask(browser, page_of(instance)).status_code == 400
        session = browser.session
        session["by_key"] = True
        session.save()
        assert ticket_in(ask(browser, page_of(instance)))


class TestOfStaff:
    def test_they_give_a_reason(self, staff, instance):
        browser = signed_in(staff)
        assert 'data-begin="asked"' in browser.get(staff_page_of(instance)).content.decode()
        assert ask(browser, staff_page_of(instance)).status_code == 400
        assert not LogEntry.objects.exists()
        assert ticket_in(ask(browser, staff_page_of(instance), reason="It hangs."))
        assert LogEntry.objects.get().change_message == "Console: It hangs."

    def test_others_are_forbidden(self, owner, instance):
        for user in (owner, StaffFactory(is_superuser=False)):
            for answer in (
                signed_in(user).get(staff_page_of(instance)),
                ask(signed_in(user), staff_page_of(instance), reason="x"),
            ):
                assert answer.status_code == 403

    def test_they_need_a_second_factor_where_the_admin_does(self, staff, instance, settings):
        settings.STAFF_SECOND_FACTOR = True
        for answer in (
            signed_in(staff).get(staff_page_of(instance)),
            ask(signed_in(staff), staff_page_of(instance), reason="x"),
        ):
            assert answer.status_code == 302
        assert not ConsoleSession.objects.exists()

    def test_there_is_no_console_of_no_instance(self, staff):
        assert signed_in(staff).get("/admin/compute/instance/4711/console/").status_code == 404


def test_open_consoles_are_hidden_from_users_without_permission(stranger, owner, instance):
    user_session(owner, instance)
    assert b"owner" not in ask(signed_in(stranger), page_of(instance)).content
