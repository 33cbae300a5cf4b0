"""The usage of a month is the same before and after its statement is written."""

from datetime import timedelta

import pytest

from compute.services.usage import statements
from compute.services.usage.month_usage import usage_of_month
from tests.compute.services.usage.playing import DECEMBER, NOVEMBER, Clock, usage_clock, used

pytestmark = pytest.mark.django_db

__all__ = ["usage_clock"]

HOUR = timedelta(hours=1)


def test_a_statement_has_the_sums_of_the_report(account, usage_clock: Clock):
    used(account, NOVEMBER, NOVEMBER + 10 * HOUR, "compute", 7, label="web", region="us-test", type="g6-small")
    used(account, NOVEMBER + 10 * HOUR, None, "compute", 7, hourly="0.04", label="web-1", type="g6-large")
    used(account, NOVEMBER, NOVEMBER + 3 * HOUR, resource=1, quantity="40", label="films")
    used(account, NOVEMBER, None, resource=2, quantity="20.5", monthly="0.2", label="music")
    usage_clock.move(DECEMBER)
    before = usage_of_month(account.pk, NOVEMBER.date())
    assert statements.freeze(account.pk, NOVEMBER.date())
    after = usage_of_month(account.pk, NOVEMBER.date())
    assert before.statement is None
    assert after.statement is not None
    assert [group.label for group in after.resources] == ["web-1", "music", "films"]
    for name in ("total", "kinds", "resources", "count"):
        assert getattr(before, name) == getattr(after, name), name
    assert usage_of_month(account.pk, NOVEMBER.date(), offset=1, limit=1).resources == after.resources[1:2]
