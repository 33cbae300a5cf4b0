"""The export reads accounts in batches, and the lines of one account at a time."""

from itertools import islice

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compute.services.usage import export
from tests.compute.services.usage.playing import NOVEMBER, OCTOBER, Clock, usage_clock, used
from tests.factories import AccountFactory

pytestmark = pytest.mark.django_db

__all__ = ["usage_clock"]


def test_rows_are_read_while_they_are_written(usage_clock: Clock, monkeypatch):
    monkeypatch.setattr(export, "BATCH", 2)
    accounts = [AccountFactory() for _ in range(5)]
    for each in accounts:
        used(each, NOVEMBER, resource=each.pk)
    found = export.rows(NOVEMBER.date())
    costs = []
    for _ in accounts:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            [row] = islice(found, 1)
        costs.append((row.account.pk, len(queries)))
    one = costs[1][1]
    assert costs == [(each.pk, one + (number % 2 == 0)) for number, each in enumerate(accounts)]
    assert list(found) == []


def test_only_accounts_with_usage_in_the_month_are_read(usage_clock: Clock):
    early, empty, late, there = (AccountFactory() for _ in range(4))
    used(early, OCTOBER, NOVEMBER, resource=1)
    used(empty, NOVEMBER, NOVEMBER, resource=2)
    used(late, usage_clock.moment, resource=3)
    used(there, OCTOBER, resource=4)
    assert [row.account for row in export.rows(NOVEMBER.date())] == [there]
