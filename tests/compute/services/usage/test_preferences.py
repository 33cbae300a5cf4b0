"""Mails about usage that a customer chooses."""

from decimal import Decimal
from typing import Any

import pytest

from accounts.actors import Actor
from accounts.models import Event
from compute.models import UsageSettings
from compute.services.usage import preferences, thresholds
from compute.services.usage.preferences import WRONG_THRESHOLD
from config.errors import Invalid
from tests.compute.services.usage.playing import NOVEMBER, Clock, usage_clock, used
from tests.racing import done, race

pytestmark = pytest.mark.django_db

__all__ = ["usage_clock"]


@pytest.fixture
def actor(account) -> Actor:
    return Actor(account.pk, username="owner")


def saved(account) -> tuple[bool, Decimal | None]:
    return UsageSettings.objects.values_list("mail_statements", "threshold").get(account=account)


def test_a_change_is_saved_with_an_event_of_the_account(account, actor):
    preferences.update(actor, mail_statements=True, threshold=Decimal(25))
    assert saved(account) == (True, Decimal("25.00"))
    event = Event.objects.get()
    assert (event.action, event.entity_type, event.entity_id) == (
        "account_settings_update", "account", account.pk,
    )  # fmt: skip
    preferences.update(actor, mail_statements=True, threshold=Decimal("25.0"))
    assert Event.objects.count() == 1, "nothing has changed"
    preferences.update(actor, mail_statements=False, threshold=None)
    assert saved(account) == (False, None)


def test_the_defaults_of_an_account_are_no_change(account, actor):
    preferences.update(actor, mail_statements=False, threshold=None)
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    ("text", "threshold"), [("", None), ("  ", None), ("25", "25.00"), (" 0.5 ", "0.50"), ("9999999999.99",) * 2]
)
def test_texts_that_name_a_threshold(text, threshold):
    found = preferences.read_threshold(text)
    assert (None if found is None else str(found)) == threshold


@pytest.mark.parametrize(
    "text",
    ["much", "-1", "0", "0.00", "1.005", "10000000000", "1e3", "1_000", "1,50", "Infinity", "٣", "$5"],
)
def test_other_texts_are_refused_with_the_reason(text):
    with pytest.raises(Invalid) as refused:
        preferences.read_threshold(text)
    assert [(problem.field, problem.reason) for problem in refused.value.problems] == [
        ("threshold", WRONG_THRESHOLD)
    ]


@pytest.mark.parametrize("threshold", ["NaN", "-1", "0.001", "1e20"])
def test_a_threshold_that_cannot_be_stored_is_refused(account, actor, threshold):
    with pytest.raises(Invalid, match="The threshold must be"):
        preferences.update(actor, mail_statements=True, threshold=Decimal(threshold))
    assert not UsageSettings.objects.exists()


def test_a_higher_threshold_is_mailed_in_the_same_month_again(account, actor, usage_clock: Clock):
    used(account, NOVEMBER)
    usage_clock.move(NOVEMBER.replace(day=20))
    for threshold, mails in ((1, 1), (2, 1), (1, 0), (None, 0), (100, 0)):
        preferences.update(actor, mail_statements=False, threshold=threshold and Decimal(threshold))
        assert thresholds.check_thresholds() == mails, threshold


def test_a_change_does_not_undo_that_a_month_was_mailed_meanwhile(account, actor, usage_clock: Clock, monkeypatch):
    """The clock mails the month after the request has read the settings, and before it writes them."""
    used(account, NOVEMBER)
    usage_clock.move(NOVEMBER.replace(day=20))
    preferences.update(actor, mail_statements=False, threshold=Decimal(1))
    mails = []

    def read_and_mail(**fields: Any) -> tuple[UsageSettings, bool]:
        found = UsageSettings.objects.get(**fields)
        mails.append(thresholds.check_thresholds())
        return found, False

    monkeypatch.setattr(UsageSettings.objects, "get_or_create", read_and_mail)
    preferences.update(actor, mail_statements=True, threshold=Decimal(1))

    assert [*mails, thresholds.check_thresholds()] == [1, 0]


@pytest.mark.django_db(transaction=True)
def test_customers_who_race_are_saved_one_after_the_other(account, actor):
    done(race(lambda number: preferences.update(actor, mail_statements=True, threshold=Decimal(number + 1))))
    assert Event.objects.count() >= 1
    assert UsageSettings.objects.get().mail_statements
