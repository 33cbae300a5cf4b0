"""Statements are written once for each account and month that is over, and mailed where switched on."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core import mail
from django.db import transaction

from accounts.models import Message
from accounts.services import outbox
from compute.models import UsageInterval, UsageSettings, UsageStatement
from compute.services.usage import rounds, statements
from compute.services.usage.reports import lines
from compute.worker.tasks import freeze_statements
from tests.compute.services.usage.playing import DECEMBER, NOVEMBER, OCTOBER, SEPTEMBER, Clock, usage_clock, used
from tests.factories import AccountFactory
from tests.racing import RACERS, done, race

pytestmark = pytest.mark.django_db

__all__ = ["usage_clock"]

HOUR = timedelta(hours=1)


def frozen() -> list[tuple[int, str, str]]:
    """Return the account, month and total of each statement."""
    rows = UsageStatement.objects.order_by("account", "month")
    return [(row.account_id, f"{row.month:%Y-%m}", str(row.total)) for row in rows]


def test_a_month_is_frozen_an_hour_after_its_end(account, usage_clock: Clock):
    used(account, NOVEMBER, DECEMBER - 100 * HOUR)
    usage_clock.move(DECEMBER + HOUR - timedelta(seconds=1))
    assert (statements.freeze_due(), frozen()) == (0, [])
    usage_clock.move(DECEMBER + HOUR)
    assert (statements.freeze_due(), frozen()) == (1, [(account.pk, "2026-11", "6.20")])


def test_a_statement_never_changes(account, usage_clock: Clock):
    used(account, NOVEMBER, hourly="0.333333", quantity="2.5", label="data")
    usage_clock.move(DECEMBER + HOUR)
    assert statements.freeze_due() == 1
    before = UsageStatement.objects.values().get()
    assert statements.lines_of(UsageStatement.objects.get()) == lines(account.pk, NOVEMBER, DECEMBER)
    assert before["total"] == Decimal("600.00")
    UsageInterval.objects.update(price_hourly=9)
    assert statements.freeze_due() == 0
    assert not statements.freeze(account.pk, NOVEMBER.date())
    assert UsageStatement.objects.values().get() == before


def test_months_that_were_missed_are_made_up_for(account, usage_clock: Clock):
    """The account has no usage in October. The other account has usage only in November."""
    used(account, SEPTEMBER - HOUR, SEPTEMBER + 2 * HOUR, resource=1)
    used(account, DECEMBER - HOUR, resource=2)
    other = AccountFactory()
    used(other, NOVEMBER + HOUR, NOVEMBER + HOUR, resource=3)
    used(other, NOVEMBER + HOUR, NOVEMBER + 3 * HOUR, resource=4)
    usage_clock.move(DECEMBER + timedelta(days=9))
    assert statements.freeze_due() == 4
    expected = [("2026-08", "0.01"), ("2026-09", "0.02"), ("2026-11", "0.01")]
    assert frozen() == [*((account.pk, *each) for each in expected), (other.pk, "2026-11", "0.02")]
    assert statements.freeze_due() == 0


def test_an_account_without_usage_has_no_statement(account, usage_clock: Clock):
    used(account, DECEMBER, resource=1)
    used(account, OCTOBER, OCTOBER, resource=2)
    usage_clock.move(DECEMBER + 5 * HOUR)
    assert (statements.freeze_due(), frozen()) == (0, [])


def test_only_accounts_that_switched_it_on_get_a_mail(account, usage_clock: Clock):
    account.company = "Fjord\u202e <b>AS</b>"
    account.save()
    UsageSettings.objects.create(account=account, mail_statements=True)
    used(account, DECEMBER - 10 * HOUR, kind="compute", hourly="0.015")
    used(account, DECEMBER - 10 * HOUR, resource=2, hourly="0.001")
    used(account, DECEMBER - 10 * HOUR, kind="backup", hourly="0")
    for number, settings in enumerate((None, {"threshold": 1}, {"mail_statements": True})):
        silent = AccountFactory(email="" if number == 2 else "silent@example.com")
        used(silent, NOVEMBER, resource=10 + number)
        if settings is not None:
            UsageSettings.objects.create(account=silent, **settings)
    usage_clock.move(DECEMBER + HOUR)
    assert statements.freeze_due() == 4
    assert [(row.account_id, row.mailed) for row in UsageStatement.objects.exclude(mailed=None)] == [
        (account.pk, DECEMBER + HOUR)
    ]
    outbox.send_due()
    [letter] = mail.outbox
    assert (letter.to, letter.subject) == (["cast@example.com"], "Usage in November 2026: 0.16 USD")
    assert "Fjord[U+202E] <b>AS</b> for November 2026" in letter.body
    assert "Instances: 0.1500\nVolumes: 0.0100\nTotal: 0.16\n" in letter.body
    html = str(letter.alternatives[0][0])
    assert "&lt;b&gt;AS&lt;/b&gt;" in html
    assert "<strong>0.16</strong>" in html
    assert all("/home/usage/2026-11" in text for text in (letter.body, html))
    assert statements.freeze_due() == 0


@pytest.mark.django_db(transaction=True)
def test_clocks_that_race_write_and_mail_each_statement_once(usage_clock: Clock):
    accounts = [AccountFactory() for _ in range(3)]
    UsageSettings.objects.bulk_create(UsageSettings(account=each, mail_statements=True) for each in accounts)
    for number, each in enumerate(accounts):
        used(each, OCTOBER, resource=number)
    usage_clock.move(DECEMBER + HOUR)
    written = done(race(lambda number: statements.freeze_due()))
    assert (len(written), sum(written)) == (RACERS, 6)
    assert [each[:2] for each in frozen()] == [
        (each.pk, month) for each in accounts for month in ("2026-10", "2026-11")
    ]
    assert Message.objects.count() == 6


def test_the_mail_is_written_in_the_transaction_of_the_statement(account, usage_clock: Clock):
    UsageSettings.objects.create(account=account, mail_statements=True)
    used(account, NOVEMBER)
    with transaction.atomic():
        assert statements.freeze(account.pk, NOVEMBER.date())
        transaction.set_rollback(True)
    assert (UsageStatement.objects.count(), Message.objects.count()) == (0, 0)


def test_a_run_is_bounded_and_another_one_continues(usage_clock: Clock, monkeypatch):
    accounts = [AccountFactory() for _ in range(5)]
    for number, each in enumerate(accounts):
        used(each, NOVEMBER, resource=number)
    usage_clock.move(DECEMBER + HOUR)
    notified: list[tuple[str, int]] = []
    monkeypatch.setattr(rounds, "notify", lambda *words: notified.append(words))
    monkeypatch.setattr(rounds, "RUN_FOR", -1.0)
    assert statements.freeze_due() == 1
    assert notified == [(freeze_statements.name, accounts[0].pk)]
    monkeypatch.setattr(rounds, "RUN_FOR", 600.0)
    monkeypatch.setattr(statements, "BATCH", 2)
    freeze_statements(accounts[0].pk)
    assert [each[0] for each in frozen()] == [each.pk for each in accounts]


def test_an_account_whose_statement_fails_does_not_stop_the_others(usage_clock: Clock, monkeypatch, caplog):
    bad, good = AccountFactory(), AccountFactory()
    for each in (bad, good):
        used(each, NOVEMBER, resource=each.pk)
    usage_clock.move(DECEMBER + HOUR)

    def fail(account_id, *times):
        if account_id == bad.pk:
            raise ValueError("No lines.")
        return lines(account_id, *times)

    monkeypatch.setattr(statements, "lines", fail)
    assert statements.freeze_due() == 1
    assert f"failed for account {bad.pk}" in caplog.text
    assert "No lines." in caplog.text
    monkeypatch.setattr(statements, "lines", lines)
    assert statements.freeze_due() == 1
    assert [each[0] for each in frozen()] == [bad.pk, good.pk]
