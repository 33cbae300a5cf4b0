"""Accounts with usage, and a clock of usage that tests move."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from accounts.models import Account
from compute.models import UsageInterval
from compute.services.usage import clock

SEPTEMBER, OCTOBER, NOVEMBER, DECEMBER = (datetime(2026, month, 1, tzinfo=UTC) for month in (9, 10, 11, 12))


class Clock:
    """The clock of usage, which stands still."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.moment = DECEMBER
        patch.setattr(clock, "now", lambda: self.moment)

    def move(self, moment: datetime) -> None:
        self.moment = moment


@pytest.fixture
def usage_clock(monkeypatch) -> Clock:
    return Clock(monkeypatch)


def used(
    account: Account, started: datetime, ended: datetime | None = None, kind: str = "volume", resource: int = 1,
    quantity: str = "1", hourly: str = "0.01", monthly: str | None = None, **fields,
) -> UsageInterval:  # fmt: skip
    """Create an interval. It is open without `ended`."""
    return UsageInterval.objects.create(
        account=account, kind=kind, resource=resource, quantity=Decimal(quantity), price_hourly=Decimal(hourly),
        price_monthly=None if monthly is None else Decimal(monthly), started=started, ended=ended, **fields,
    )  # fmt: skip
