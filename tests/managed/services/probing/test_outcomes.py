"""The effects of a check's outcome, and the notifications about it."""

import threading
from collections import Counter

import pytest
from django.db import connection

from accounts.models import Event, Message, Ticket, TicketReply
from managed.models import Issue, Measurement, Service
from managed.services import probing
from managed.services.probing import Outcome
from tests.managed.watched import (
    DOWN,
    UP,
    claim_all,
    claim_one,
    contact,
    events,
    in_threads,
    mails,
    managed_account,
    settle,
    watch,
)

pytestmark = pytest.mark.django_db


def test_pending_until_the_first_check_and_then_ok(service):
    assert service.status == "pending"
    checked = settle(service, UP)
    assert (checked.status, checked.failures, checked.error, checked.lease_until) == ("ok", 0, "", None)
    assert events() == ["account_settings_update: shop is up."]
    assert mails() == []


def test_one_failure_changes_nothing_that_others_see(service):
    settle(service, UP)
    checked = settle(service, DOWN)
    assert (checked.status, checked.failures, checked.error) == ("ok", 1, "it answered 503")
    assert not Issue.objects.exists()
    assert len(events()) == 1


def test_failures_that_are_not_in_a_row_make_no_problem(service):
    checked = settle(service, UP, DOWN, UP, DOWN, UP)
    assert (checked.status, checked.failures) == ("ok", 0)
    assert not Issue.objects.exists()
    assert len(events()) == 1, "it was up all the time"


@pytest.mark.parametrize("before", [(), (UP,)])
def test_two_failures_in_a_row_make_a_problem_with_its_issue_ticket_event_and_mail(service, account, before):
    checked = settle(service, *before, DOWN, DOWN)
    issue = Issue.objects.get()
    assert checked.status == "problem"
    assert checked.issue == issue
    assert (issue.account, issue.services, issue.closed) == (account, [service.pk], None)
    ticket = issue.ticket
    assert (ticket.account, ticket.summary, ticket.status) == (account, "shop is down", "new")
    assert ticket.description == "shop (http://203.0.113.9/) is down: it answered 503"
    assert (ticket.managed_issue, ticket.opened_by) == (True, "")
    assert events()[len(before) :] == [
        "ticket_create: ",
        "account_settings_update: shop (http://203.0.113.9/) is down: it answered 503",
    ]
    event = Event.objects.latest("pk")
    assert (event.secondary_type, event.secondary_id, event.username) == ("ticket", str(ticket.pk), "")
    assert mails() == ["Down: shop > account@example.com"]


def test_a_problem_that_stays_says_nothing_more(service):
    settle(service, DOWN, DOWN)
    before = (events(), mails())
    checked = settle(service, DOWN, Outcome(error="it answered 500"), DOWN)
    assert (checked.status, checked.failures) == ("problem", 5)
    assert (events(), mails()) == before
    assert TicketReply.objects.count() == 0


def test_one_success_ends_a_problem_with_a_reply_and_a_mail_and_closes_all(service):
    settle(service, DOWN, DOWN)
    checked = settle(service, UP)
    assert (checked.status, checked.failures, checked.issue) == ("ok", 0, None)
    issue = Issue.objects.get()
    assert issue.closed is not None
    assert issue.services == [service.pk]
    assert issue.ticket.status == "closed"
    assert [reply.description for reply in issue.ticket.replies.all()] == ["shop is up again."]
    assert mails() == ["Down: shop > account@example.com", "Up again: shop > account@example.com"]
    assert events(of=service) == [
        "account_settings_update: shop (http://203.0.113.9/) is down: it answered 503",
        "account_settings_update: shop is up.",
    ]
    assert events()[2:4] == ["ticket_update: ", "ticket_update: The ticket was closed."]


def test_the_next_problem_is_another_issue(service):
    settle(service, DOWN, DOWN, UP, DOWN, DOWN)
    assert Issue.objects.count() == Ticket.objects.count() == 2
    assert Issue.objects.filter(closed=None).count() == 1


def test_an_outcome_is_written_only_once(service):
    """As when the database went away between a commit and its answer."""
    settle(service, UP)
    probe = claim_one(service)
    assert probing.settle(probe, DOWN)
    assert not probing.settle(probe, DOWN)
    service.refresh_from_db()
    assert (service.status, service.failures) == ("ok", 1)
    assert Measurement.objects.count() == 2


def test_outcomes_of_the_prober_are_no_changes_by_the_owner(service):
    before = service.updated
    assert settle(service, UP, DOWN, DOWN, UP).updated == before


def test_a_long_error_and_many_failures_fit(service):
    Service.objects.update(failures=32767, status="ok")
    checked = settle(service, Outcome(error="x" * 5000))
    assert (len(checked.error), checked.failures, checked.status) == (500, 32767, "problem")


# --- several services -------------------------------------------------------------------------------------------


def test_a_failure_during_an_incident_joins_its_issue(service, account):
    other, third = watch(account, label="mail"), watch(account, label="dns")
    settle(service, DOWN, DOWN)
    settle(other, DOWN, DOWN)
    issue = Issue.objects.get()
    assert issue.services == [service.pk, other.pk]
    assert [reply.description for reply in issue.ticket.replies.all()] == [
        "mail (http://203.0.113.9/) is down: it answered 503"
    ]
    settle(service, UP)
    issue.refresh_from_db()
    assert (issue.closed, issue.ticket.status) == (None, "new"), "mail still fails"
    settle(third, DOWN, DOWN)
    settle(service, DOWN, DOWN)
    issue.refresh_from_db()
    assert issue.services == [service.pk, other.pk, third.pk]
    settle(other, UP)
    settle(third, UP)
    assert Issue.objects.get().closed is None
    settle(service, UP)
    issue = Issue.objects.get()
    assert issue.closed is not None
    assert issue.ticket.status == "closed"
    assert Counter(mails()) == Counter(
        f"{word}: {label} > account@example.com"
        for label, times in (("shop", 2), ("mail", 1), ("dns", 1))
        for word in ("Down", "Up again")
        for _ in range(times)
    )


def test_accounts_have_nothing_to_do_with_each_other(service):
    other = watch(managed_account(email="other@example.com"), label="mail")
    settle(service, DOWN, DOWN)
    settle(other, DOWN, DOWN)
    assert Issue.objects.count() == 2
    settle(service, UP)
    assert Issue.objects.filter(closed=None).get().account == other.account


@pytest.mark.django_db(transaction=True)
def test_services_that_fail_at_the_same_moment_share_one_issue_and_close_it_once(account, monkeypatch):
    monkeypatch.setattr(probing, "LOCK_TIMEOUT", "300s")  # they wait for each other, however long that takes here
    failing = [watch(account, label=f"web {number}") for number in range(8)]

    def at_once(outcome: Outcome) -> None:
        probes = claim_all(*failing)
        gate = threading.Barrier(len(failing))

        def settler(number: int) -> None:
            gate.wait()
            probing.settle(probes[number], outcome)
            connection.close()

        in_threads(settler, len(failing))

    at_once(DOWN)
    at_once(DOWN)
    issue = Issue.objects.get()
    assert sorted(issue.services) == sorted(service.pk for service in failing)
    assert issue.ticket.replies.count() == 7
    at_once(UP)
    issue = Issue.objects.get()
    assert issue.closed is not None
    assert issue.ticket.status == "closed"
    assert issue.ticket.replies.count() == 15
    assert Event.objects.filter(message="The ticket was closed.").count() == 1
    assert Message.objects.count() == 16


# --- who is notified ----------------------------------------------------------------------------------------------


def test_the_contacts_of_the_consultation_group_are_notified(account):
    service = watch(account, label="shop", consultation_group="on call")
    contact(account, "ada", "on call")
    contact(account, "bob", "on call")
    contact(account, "cy", "others")
    contact(account, "di")
    contact(managed_account(), "eve", "on call")
    settle(service, DOWN, DOWN, UP)
    assert mails() == [
        "Down: shop > ada@example.com", "Down: shop > bob@example.com",
        "Up again: shop > ada@example.com", "Up again: shop > bob@example.com",
    ]  # fmt: skip


@pytest.mark.parametrize("no_group", [None, ""])
def test_without_a_group_contacts_without_a_group_are_notified(account, service, no_group):
    contact(account, "ada", no_group)
    contact(account, "bob", "on call")
    settle(service, DOWN, DOWN)
    assert mails() == ["Down: shop > ada@example.com"]


def test_a_group_without_contacts_leaves_the_accounts_own_address(account):
    contact(account, "ada", "others")
    settle(watch(account, label="shop", consultation_group="on call"), DOWN, DOWN)
    assert mails() == ["Down: shop > account@example.com"]


def test_an_address_is_notified_once_and_an_account_without_one_not_at_all(account, service):
    for name in ("ada", "ada2"):
        contact(account, name)
    account.managed_contacts.update(email="same@example.com")
    settle(service, DOWN, DOWN)
    assert mails() == ["Down: shop > same@example.com"]
    silent = watch(managed_account(email=""))
    assert settle(silent, DOWN, DOWN).status == "problem"
    assert len(mails()) == 1
