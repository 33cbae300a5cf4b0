"""Consoles in the admin: the sessions of users, and ending one."""

import pytest
from django.contrib.admin.models import LogEntry

from compute.models import ConsoleSession, Instance
from compute.services import consoles
from tests.compute.at_consoles import staff_session, user_session
from tests.config.admin.pages import do, list_address, messages_of, page_address
from tests.factories import InstanceFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(owner) -> Instance:
    return InstanceFactory(account=owner.account, label="web-1", status=Instance.Status.RUNNING)


def test_an_instance_s_page_says_who_was_there_and_leads_there(admin, staff, owner, instance):
    consoles.leave(user_session(owner, instance).pk, "They left.")
    staff_session(staff, instance)
    page = admin.get(page_address(instance)).content.decode()
    assert f'href="/admin/compute/instance/{instance.pk}/console/"' in page
    assert "It hangs." in page
    assert page.count(">open<") == 1


def test_the_list_is_searched_and_shows_no_secret(admin, owner, instance):
    session = user_session(owner, instance)
    for term in (str(instance.pk), "web", owner.username):
        assert b"web-1" in admin.get(list_address(ConsoleSession), {"q": term}).content
    for address in (list_address(ConsoleSession), page_address(session)):
        page = admin.get(address).content.decode()
        assert session.browser not in page
        assert session.credentials not in page
    assert admin.get(list_address(ConsoleSession), {"browser": session.browser}).status_code == 400


def test_a_record_outlives_its_instance_and_its_user(admin, owner, instance):
    user = UserFactory(account=owner.account, username="gone")
    session = user_session(user, instance)
    number = instance.pk
    instance.delete()
    user.delete()
    for term in (str(number), "web", "gone"):
        page = admin.get(list_address(ConsoleSession), {"q": term}).content.decode()
        assert f"web-1 ({number}, deleted)" in page
        assert "gone (deleted)" in page
    assert f"web-1 ({number}, deleted)" in admin.get(page_address(session)).content.decode()


def test_a_session_is_found_by_both_names_of_a_user_who_has_another_now(admin, owner, instance):
    before = owner.username
    user_session(owner, instance)
    owner.username = "renamed"
    owner.save(update_fields=("username",))
    for term in (before, "renamed"):
        assert b"web-1" in admin.get(list_address(ConsoleSession), {"q": term}).content


def test_a_session_is_ended(admin, owner, instance):
    session = user_session(owner, instance)
    assert "the console closes within seconds" in messages_of(do(admin, session, "end"))
    assert consoles.still_there([session.pk]) == {session.pk: consoles.ENDED_BY_STAFF}
    assert "End session" in LogEntry.objects.latest("pk").change_message
    consoles.leave(session.pk, consoles.ENDED_BY_STAFF)
    assert "Nobody uses this console" in messages_of(do(admin, session, "end"))


def test_the_outcome_of_each_is_shown(admin, owner, instance):
    session = user_session(owner, instance)
    for fields, state in (
        ({}, "open"),
        ({"seen": session.created.replace(year=2020)}, "its server stopped"),
        ({"ended": session.created}, "ended"),
        ({"opened": None, "ended": None}, "requested"),
    ):
        ConsoleSession.objects.update(**fields)
        assert f">{state}<" in admin.get(page_address(session)).content.decode()
