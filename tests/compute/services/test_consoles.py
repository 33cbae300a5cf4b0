"""Consoles in browsers: permissions, single-use tickets, and the ends of sessions."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now

from accounts.models import User
from compute.models import ConsoleSession, Instance
from compute.services import consoles
from config.errors import Denied, Invalid, Missing, TooMany
from config.limits.rates import forget
from tests.compute.at_consoles import ORIGIN, browser_of, signed_in, staff_session, user_session
from tests.factories import GrantFactory, InstanceFactory, StaffFactory, TrustedDeviceFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(account) -> Instance:
    return InstanceFactory(account=account, label="web-1", status=Instance.Status.RUNNING)


@pytest.fixture
def colleague(account) -> User:
    return UserFactory(account=account, username="colleague")


def ask(user: User, instance: Instance, **fields) -> str:
    return consoles.ask(user, instance, browser_of(signed_in(user), **fields))


class TestTickets:
    def test_a_ticket_is_valid_once_and_stored_as_a_hash(self, owner, instance):
        ticket = ask(owner, instance)
        assert consoles.is_ticket(ticket)
        assert ticket not in str(ConsoleSession.objects.values().get())
        session = consoles.admit(ticket, ORIGIN)
        assert (session.instance, session.user) == (instance, owner)
        with pytest.raises(Missing):
            consoles.admit(ticket, ORIGIN)
        assert ConsoleSession.objects.in_use().get().ticket is None

    @pytest.mark.parametrize("origin", ["", "https://evil.example", f"{ORIGIN}/", "http://cloud.example.com"])
    def test_a_ticket_is_valid_for_its_page_only(self, owner, instance, origin):
        with pytest.raises(Missing):
            consoles.admit(ask(owner, instance), origin)
        assert not ConsoleSession.objects.in_use().exists()

    def test_a_ticket_expires(self, owner, instance):
        ticket = ask(owner, instance)
        late = timedelta(seconds=consoles.TICKET_SECONDS + 1)
        ConsoleSession.objects.update(created=Now() - late)
        with pytest.raises(Missing):
            consoles.admit(ticket, ORIGIN)

    @pytest.mark.parametrize("ticket", ["", "x", "a:b:c", "é:1:x", "x" * 100_000])
    def test_a_wrong_signature_is_seen_without_a_query(self, ticket, django_assert_num_queries):
        with django_assert_num_queries(0):
            assert not consoles.is_ticket(ticket)

    def test_too_many_are_refused(self, owner, instance, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "console": "2/60"}
        forget()
        for _ in range(2):
            ask(owner, instance)
        with pytest.raises(TooMany):
            ask(owner, instance)
        forget()


class TestWhoMayBeThere:
    @pytest.mark.parametrize(("level", "may"), [(None, False), ("read_only", False), ("read_write", True)])
    def test_restricted_users_need_read_write(self, restricted, instance, level, may):
        if level:
            GrantFactory(user=restricted, entity_id=instance.pk, permissions=level)
        if may:
            assert user_session(restricted, instance)
        else:
            with pytest.raises(Denied, match="may not change this instance"):
                ask(restricted, instance)

    def test_strangers_may_not(self, stranger, instance):
        with pytest.raises(Denied):
            ask(stranger, instance)

    @pytest.mark.parametrize(
        ("method", "by_key", "why"),
        [
            ("password_keys", False, ""),
            ("keys_only", False, "with a security key"),
            ("keys_only", True, ""),
            ("disabled", True, "turned off"),
        ],
    )
    def test_the_profile_says_how(self, owner, instance, method, by_key, why):
        owner.lish_auth_method = method
        owner.save()
        if why:
            with pytest.raises(Denied, match=why):
                ask(owner, instance, by_key=by_key)
        else:
            assert user_session(owner, instance, by_key=by_key)

    @pytest.mark.parametrize("status", ["offline", "stopped"])
    def test_the_console_of_an_instance_that_is_off_is_refused(self, owner, instance, status):
        instance.status = status
        with pytest.raises(Invalid, match="is off"):
            ask(owner, instance)

    def test_staff_give_a_reason_and_it_is_logged(self, staff, instance):
        for reason in ("", "  ", "x" * 501, "a\0b", "a\nb", "\ud800"):
            with pytest.raises(Invalid) as refused:
                consoles.ask_as_staff(staff, instance, browser_of(signed_in(staff)), reason)
            assert refused.value.problems[0].field == "reason"
        assert not LogEntry.objects.exists()
        session = staff_session(staff, instance)
        assert (session.staff, session.reason) == (True, "It hangs.")
        logged = LogEntry.objects.get()
        assert (logged.user, logged.object_id, logged.change_message) == (
            staff,
            str(instance.pk),
            "Console: It hangs.",
        )

    def test_staff_need_the_permission(self, instance):
        with pytest.raises(Denied, match="permissions"):
            staff_session(StaffFactory(is_superuser=False), instance)

    def test_a_customer_is_no_staff(self, owner, instance):
        owner.is_superuser = True
        owner.save()
        with pytest.raises(Denied):
            staff_session(owner, instance)


class TestOneAtATime:
    def test_ones_own_session_ends_where_one_comes_again(self, owner, instance):
        first = user_session(owner, instance)
        ask(owner, instance)
        assert consoles.still_there([first.pk]) == {first.pk: consoles.OPENED_AGAIN}

    def test_somebody_else_is_named_and_leaves_where_asked_to(self, owner, colleague, instance):
        first = user_session(owner, instance)
        with pytest.raises(consoles.Occupied, match=r"owner opened this console at \d\d:\d\d UTC"):
            ask(colleague, instance)
        assert consoles.still_there([first.pk]) == {}
        consoles.ask(colleague, instance, browser_of(signed_in(colleague)), take_over=True)
        assert consoles.still_there([first.pk]) == {first.pk: "colleague took over this console."}

    def test_customers_see_that_staff_are_present_but_not_their_names(self, owner, staff, instance):
        staff_session(staff, instance)
        with pytest.raises(consoles.Occupied, match="A member of the platform's staff opened"):
            ask(owner, instance)
        user_session(owner, instance)
        session = ConsoleSession.objects.get(user=owner)
        with pytest.raises(consoles.Occupied, match="owner opened this console"):
            consoles.ask_as_staff(staff, instance, browser_of(signed_in(staff)), "again")
        staff_session(staff, instance)
        assert consoles.still_there([session.pk])[session.pk].startswith("A member of the platform's staff took")

    def test_sessions_of_a_dead_process_do_not_count(self, owner, colleague, instance):
        user_session(owner, instance)
        ConsoleSession.objects.update(seen=Now() - ConsoleSession.SILENCE)
        assert ask(colleague, instance)

    def test_a_user_has_a_limited_number_of_consoles(self, owner, account, instance, settings):
        settings.CONSOLES_PER_USER = 2
        others = [InstanceFactory(account=account, status="running") for _ in range(3)]
        sessions = [user_session(owner, each) for each in others[:2]]
        for each in (others[2], instance):
            with pytest.raises(consoles.Full, match="have 2 consoles open"):
                ask(owner, each)
        user_session(owner, others[0])  # the same console again does not count
        consoles.leave(sessions[1].pk, "x")
        early, late = ask(owner, others[2]), ask(owner, instance)
        consoles.admit(early, ORIGIN)
        with pytest.raises(consoles.Full, match="have 2 consoles open"):
            consoles.admit(late, ORIGIN)

    def test_sessions_of_dead_processes_do_not_count(self, owner, account, instance, settings):
        settings.CONSOLES_PER_USER = 2
        other = InstanceFactory(account=account, status="running")
        lost = user_session(owner, other)
        ConsoleSession.objects.filter(pk=lost.pk).update(to_end="")
        user_session(owner, other)
        assert user_session(owner, instance)

    def test_the_ticket_used_last_has_the_console(self, owner, instance):
        tickets = [ask(owner, instance) for _ in range(3)]
        sessions = [consoles.admit(ticket, ORIGIN).pk for ticket in tickets]
        assert consoles.still_there(sessions) == dict.fromkeys(sessions[:2], consoles.OPENED_AGAIN)


def sign_out(session, client) -> None:
    client.logout()


def another_password(session, client) -> None:
    session.user.set_password("another")
    session.user.save()


def suspend_user(session, client) -> None:
    User.objects.update(is_active=False)


def suspend_account(session, client) -> None:
    session.user.account.is_active = False
    session.user.account.save()


def restrict(session, client) -> None:
    User.objects.update(restricted=True)


def turn_off(session, client) -> None:
    User.objects.update(lish_auth_method="disabled")


def keys_alone(session, client) -> None:
    User.objects.update(lish_auth_method="keys_only")


def give_away(session, client) -> None:
    Instance.objects.update(account=UserFactory().account)


def delete(session, client) -> None:
    Instance.objects.all().delete()


def delete_user(session, client) -> None:
    session.user.delete()


def revoke_browser(session, client) -> None:
    session.user.devices.all().delete()


class TestWhatEndsASession:
    @pytest.mark.parametrize(
        ("happens", "why"),
        [
            (sign_out, consoles.SIGNED_OUT),
            (another_password, consoles.SIGNED_OUT),
            (suspend_user, consoles.SIGNED_OUT),
            (suspend_account, consoles.SIGNED_OUT),
            (revoke_browser, consoles.SIGNED_OUT),
            (restrict, consoles.NO_RIGHTS),
            (give_away, consoles.NO_RIGHTS),
            (turn_off, consoles.TURNED_OFF),
            (keys_alone, consoles.KEYS_ONLY),
            (delete, consoles.INSTANCE_DELETED),
            (delete_user, consoles.SIGNED_OUT),
        ],
        ids=lambda each: getattr(each, "__name__", ""),
    )
    def test_a_user_who_could_not_open_it_again_is_disconnected(self, owner, instance, happens, why):
        client = signed_in(owner)
        ticket = consoles.ask(owner, instance, browser_of(client, device=TrustedDeviceFactory(user=owner).pk))
        session = consoles.admit(ticket, ORIGIN)
        assert consoles.recheck(session.pk) == ""
        waiting = consoles.ask(owner, instance, browser_of(client, device=owner.devices.get().pk))
        happens(session, client)
        assert consoles.recheck(session.pk) == why
        with pytest.raises((Denied, Missing)):
            consoles.admit(waiting, ORIGIN)

    def test_staff_without_the_permission_leave(self, staff, instance):
        session = staff_session(staff, instance)
        assert consoles.recheck(session.pk) == ""
        User.objects.update(is_superuser=False)
        assert consoles.recheck(session.pk) == consoles.NO_PERMISSION

    def test_staff_end_one(self, owner, instance):
        session = user_session(owner, instance)
        consoles.end(session)
        assert consoles.still_there([session.pk]) == {session.pk: consoles.ENDED_BY_STAFF}
        consoles.leave(session.pk, consoles.ENDED_BY_STAFF)
        with pytest.raises(Invalid, match="Nobody uses this console"):
            consoles.end(session)


def test_signs_of_life_of_all_are_one_statement(owner, account, django_assert_num_queries):
    sessions = [user_session(owner, InstanceFactory(account=account, status="running")).pk for _ in range(3)]
    ConsoleSession.objects.update(seen=Now() - timedelta(hours=1))
    Instance.objects.filter(console_sessions=sessions[0]).delete()
    with django_assert_num_queries(1):
        assert consoles.still_there(sessions) == {sessions[0]: consoles.INSTANCE_DELETED}
    assert {each.pk for each in ConsoleSession.objects.in_use()} == set(sessions[1:])


def test_a_record_outlives_its_instance_and_its_user(account):
    user = UserFactory(account=account)
    instance = InstanceFactory(account=account, status="running", label="web-1")
    session, number, name = user_session(user, instance), instance.pk, user.username
    instance.delete()
    assert consoles.still_there([session.pk]) == {session.pk: consoles.INSTANCE_DELETED}
    user.delete()
    consoles.leave(session.pk, consoles.INSTANCE_DELETED)
    session.refresh_from_db()
    assert (session.instance, session.user) == (None, None)
    assert (session.username, session.instance_number, session.instance_label) == (name, number, "web-1")
    assert session.outcome == consoles.INSTANCE_DELETED


def test_a_user_who_is_deleted_leaves(account, instance):
    user = UserFactory(account=account)
    session = user_session(user, instance)
    user.delete()
    assert consoles.still_there([session.pk]) == {session.pk: consoles.SIGNED_OUT}


def test_a_record_of_the_release_before_gets_its_names_with_the_ticket(owner, instance):
    ticket = ask(owner, instance)
    ConsoleSession.objects.update(username="", instance_number=None, instance_label="")
    session = consoles.admit(ticket, ORIGIN)
    session.refresh_from_db()
    assert (session.username, session.instance_number) == (owner.username, instance.pk)
    assert session.instance_label == instance.label


def test_the_end_is_recorded_once(owner, instance):
    session = user_session(owner, instance)
    consoles.leave(session.pk, "They left.")
    consoles.leave(session.pk, "later")
    session.refresh_from_db()
    assert session.outcome == "They left."
    assert session.ended is not None
    assert not ConsoleSession.objects.in_use().exists()


def test_old_records_go(owner, instance, settings):
    old, open_, new = (user_session(owner, instance) for _ in range(3))
    ConsoleSession.objects.exclude(pk=new.pk).update(created=Now() - settings.LOGINS_KEPT - timedelta(hours=1))
    ConsoleSession.objects.filter(pk=old.pk).update(seen=Now() - timedelta(days=1))
    ask(owner, instance)
    assert consoles.delete_old() == 1
    assert set(ConsoleSession.objects.filter(opened__isnull=False)) == {open_, new}
