"""Changes by people and other probers during checks and open issues."""

import threading

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction

from accounts.actors import Actor
from accounts.models import Ticket
from accounts.services import tickets
from accounts.services.account import lock_account
from managed.models import Issue, Measurement, Service
from managed.services import incidents, probing, services
from managed.services.probing import claim
from managed.services.services import ServiceSpec
from tests.factories import TicketFactory
from tests.managed.watched import DOWN, UP, claim_one, claimed, in_threads, mails, settle, state, watch

pytestmark = pytest.mark.django_db


def closed_by_hand(support: Actor) -> Issue:
    issue = Issue.objects.get()
    tickets.close(support, issue.ticket)
    return issue


def test_a_ticket_closed_by_hand_stays_closed_at_recovery(service, support):
    settle(service, DOWN, DOWN)
    closed_by_hand(support)
    settle(service, DOWN)
    assert Issue.objects.get().closed is None, "it still fails"
    checked = settle(service, UP)
    issue = Issue.objects.get()
    assert checked.status == "ok"
    assert issue.closed is not None
    assert issue.ticket.replies.count() == 0
    assert mails()[1] == "Up again: shop > account@example.com"


def test_a_failure_after_closing_by_hand_opens_another_issue(service, account, support):
    other = watch(account, label="mail")
    settle(service, DOWN, DOWN)
    first = closed_by_hand(support)
    settle(other, DOWN, DOWN)
    second = Issue.objects.get(closed=None)
    first.refresh_from_db()
    assert first.closed is not None
    assert (first.services, second.services) == ([service.pk], [other.pk])
    closed = first.closed
    checked = settle(service, UP)
    first.refresh_from_db()
    assert (checked.status, checked.issue, first.closed) == ("ok", None, closed)
    assert "Up again: shop > account@example.com" in mails(), "the contacts of the failure are notified of its end"
    second.refresh_from_db()
    assert (second.closed, second.ticket.status) == (None, "new")


def test_a_ticket_that_staff_deleted_takes_its_issue_along_and_harms_nothing(service):
    settle(service, DOWN, DOWN)
    Ticket.objects.all().delete()
    assert not Issue.objects.exists()
    assert settle(service, DOWN).status == "problem"
    assert settle(service, UP).status == "ok"
    assert mails()[1] == "Up again: shop > account@example.com"


@pytest.mark.django_db(transaction=True)
def test_a_customer_who_writes_to_the_ticket_and_a_prober_do_not_lock_each_other_out(
    service, actor, account, monkeypatch
):
    monkeypatch.setattr(probing, "LOCK_TIMEOUT", "300s")  # the database reports a deadlock sooner
    settle(service, DOWN, DOWN)
    ticket = Ticket.objects.get()
    TicketFactory(account=account)
    failures = []

    def customer(number: int) -> None:
        try:
            for _ in range(15):
                tickets.reply(actor, ticket, "What is it?")
        except DatabaseError as error:
            failures.append(error)
        finally:
            connection.close()

    def prober(number: int) -> None:
        try:
            for n in range(15):
                other = watch(account, label=f"web {n}")
                settle(other, DOWN, DOWN, UP)
        except DatabaseError as error:
            failures.append(error)
        finally:
            connection.close()

    in_threads(lambda number: (customer if number else prober)(number), 2)
    assert failures == []
    assert ticket.replies.count() == 45


# --- what happens while a check is under way --------------------------------------------------------------------


def test_disabled_while_a_check_is_under_way(service, actor):
    settle(service, UP)
    probe = claim_one(service)
    services.disable(actor, service)
    assert not probing.settle(probe, DOWN)
    service.refresh_from_db()
    assert (service.status, service.failures) == ("disabled", 0)
    assert claimed() == []


def test_disabled_and_enabled_while_a_check_is_under_way(service, actor):
    settle(service, UP)
    probe = claim_one(service)
    services.disable(actor, service)
    services.enable(actor, service)
    assert not probing.settle(probe, DOWN)
    assert Service.objects.get().status == "pending"
    assert claimed() == [service.pk], "due at once, even if another process still checks it"


def test_changed_while_a_check_is_under_way(service, actor):
    settle(service, UP, DOWN)
    probe = claim_one(service)
    services.update(actor, service, ServiceSpec({"address": "http://8.8.4.4/new"}))
    assert not probing.settle(probe, DOWN), "what was found is true of another address"
    service.refresh_from_db()
    assert (service.status, service.failures, service.error) == ("pending", 0, "")
    [again] = claim(10)
    assert again.address == "http://8.8.4.4/new"


def test_renamed_while_a_check_is_under_way(service, actor):
    service = settle(watch(service.account, address="http://8.8.4.4/"), UP)
    probe = claim_one(service)
    services.update(actor, service, ServiceSpec({"label": "warehouse"}))
    assert probing.settle(probe, DOWN), "a name is no reason to check again"


def test_deleted_while_a_check_is_under_way(service, actor):
    probe = claim_one(service)
    services.delete(actor, service)
    assert not probing.settle(probe, DOWN)
    assert not Measurement.objects.exists()


def test_an_account_deleted_while_a_check_is_under_way(service, account):
    probe = claim_one(service)
    account.delete()
    assert not probing.settle(probe, DOWN)


@pytest.mark.parametrize("verb", [services.disable, services.delete])
def test_a_service_that_is_no_longer_watched_leaves_its_issue(service, actor, verb):
    settle(service, DOWN, DOWN)
    verb(actor, service)
    issue = Issue.objects.get()
    assert issue.closed is not None
    assert (issue.services, issue.ticket.status) == ([service.pk], "closed")
    assert [mail for mail in mails() if mail.startswith("Up")] == []


# --- all or nothing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", [DOWN, UP])
def test_a_settle_that_fails_writes_nothing(service, monkeypatch, last):
    settle(service, *((DOWN,) if last is DOWN else (DOWN, DOWN)))
    probe = claim_one(service)
    before = state()

    def broken(*args) -> None:
        raise RuntimeError("the templates are broken")

    monkeypatch.setattr(incidents.outbox, "mail_to", broken)
    with pytest.raises(RuntimeError):
        probing.settle(probe, last)
    assert state() == before


@pytest.mark.django_db(transaction=True)
def test_an_account_that_somebody_keeps_locked_is_not_waited_for_long(service, account, monkeypatch):
    monkeypatch.setattr(probing, "LOCK_TIMEOUT", "200ms")
    probe = claim_one(service)
    started, done = threading.Event(), threading.Event()

    def holder(number: int) -> None:
        with transaction.atomic():
            lock_account(account.pk)
            started.set()
            done.wait(300)
        connection.close()

    thread = threading.Thread(target=holder, args=(0,))
    thread.start()
    assert started.wait(300)
    with pytest.raises(OperationalError):
        probing.settle(probe, UP)
    done.set()
    thread.join()
    monkeypatch.undo()
    assert probing.settle(probe, UP), "and tried again, it is written"


def test_the_patience_ends_with_the_transaction(service):
    settle(service, UP)
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() in [("0",), ("5s",)]  # the setting lasts within the test's own transaction
