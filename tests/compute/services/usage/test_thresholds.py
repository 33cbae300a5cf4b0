"""A customer gets one mail in a month when the month's amount passes the threshold."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core import mail
from django.db.models.functions import Now

from accounts.models import Message
from accounts.services import outbox
from compute.models import UsageSettings
from compute.services.usage import rounds, thresholds
from compute.worker.tasks import check_thresholds
from tests.compute.services.usage.playing import DECEMBER, NOVEMBER, Clock, usage_clock, used
from tests.factories import AccountFactory
from tests.racing import done, race

pytestmark = pytest.mark.django_db

__all__ = ["usage_clock"]

HOUR = timedelta(hours=1)


def watched(threshold: str | None, **fields) -> UsageSettings:
    """Create an account whose usage costs 0.01 USD an hour from November on."""
    account = AccountFactory(**fields)
    used(account, NOVEMBER, resource=account.pk)
    return UsageSettings.objects.create(account=account, threshold=threshold)


def test_an_account_is_mailed_once_in_a_month_above_its_threshold(usage_clock: Clock):
    settings = watched("1.50", company="Fjord AS", email="bills@example.com")
    usage_clock.move(NOVEMBER + 150 * HOUR)
    assert thresholds.check_thresholds() == 0, "1.50 is not above 1.50"
    usage_clock.move(NOVEMBER + 151 * HOUR)
    assert thresholds.check_thresholds() == 1
    usage_clock.move(DECEMBER - HOUR)
    assert thresholds.check_thresholds() == 0
    settings.refresh_from_db()
    assert settings.warned_month == NOVEMBER.date()
    outbox.send_due()
    [letter] = mail.outbox
    assert (letter.to, letter.subject) == (["bills@example.com"], "Usage in November 2026 is above 1.50 USD")
    assert "of Fjord AS in November 2026 costs 1.51 USD" in " ".join(letter.body.split())
    assert "Volumes: 1.5100" in letter.body
    assert "1.51 USD" in str(letter.alternatives[0][0])
    usage_clock.move(DECEMBER + 149 * HOUR)
    assert thresholds.check_thresholds() == 0, "the amount of a month begins at 0"
    usage_clock.move(DECEMBER + 151 * HOUR)
    assert thresholds.check_thresholds() == 1


def test_no_account_without_a_threshold_is_mailed(usage_clock: Clock):
    watched(None)
    watched("0", email="")
    usage_clock.move(DECEMBER - HOUR)
    assert (thresholds.check_thresholds(), Message.objects.count()) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_clocks_that_race_mail_once(usage_clock: Clock):
    watched("1"), watched("2")
    usage_clock.move(DECEMBER - HOUR)
    assert sum(done(race(lambda number: thresholds.check_thresholds()))) == 2
    assert Message.objects.count() == 2


def test_a_threshold_that_was_raised_meanwhile_counts(usage_clock: Clock, monkeypatch):
    settings = watched("1")
    usage_clock.move(DECEMBER - HOUR)
    summary = thresholds.summary

    def raise_first(*words):
        UsageSettings.objects.filter(pk=settings.pk).update(threshold=Decimal(100))
        return summary(*words)

    monkeypatch.setattr(thresholds, "summary", raise_first)
    assert (thresholds.check_thresholds(), Message.objects.count()) == (0, 0)


def test_a_run_is_bounded_and_another_one_continues(usage_clock: Clock, monkeypatch):
    settings = [watched("1") for _ in range(4)]
    usage_clock.move(DECEMBER - HOUR)
    notified: list[tuple[str, int]] = []
    monkeypatch.setattr(rounds, "notify", lambda *words: notified.append(words))
    monkeypatch.setattr(rounds, "RUN_FOR", -1.0)
    assert thresholds.check_thresholds() == 1
    assert notified == [(check_thresholds.name, settings[0].pk)]
    monkeypatch.setattr(rounds, "RUN_FOR", 600.0)
    monkeypatch.setattr(thresholds, "BATCH", 2)
    check_thresholds(settings[0].pk)
    assert Message.objects.filter(run_at__lte=Now()).count() == 4
