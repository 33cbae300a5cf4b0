"""The export of a month: the lines of all accounts, for billing systems."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from accounts.models import Account
from compute.models import UsageStatement
from compute.services.common.months import next_month, start_of
from compute.services.usage.reports import Line, lines
from compute.services.usage.statements import as_json, lines_of

FINAL, PRELIMINARY = "final", "preliminary"
"""The states of a row: of a statement, which never changes, or computed now."""
COLUMNS = (
    "account_id", "euuid", "company", "month", "state", "kind", "resource", "label", "region", "type", "hours",
    "quantity_hours", "price_hourly", "price_monthly", "amount",
)  # fmt: skip
BATCH = 100
"""The number of accounts that one query finds."""

# Searches as in `statements`.
_WITH_USAGE = """
SELECT a.id, a.euuid, a.company
  FROM accounts_account a
 WHERE a.id > %(after)s AND (%(last)s::bigint IS NULL OR a.id = %(last)s)
   AND (EXISTS (SELECT FROM compute_usagestatement s WHERE s.account_id = a.id AND s.month = %(month)s OFFSET 0)
     OR EXISTS (SELECT FROM compute_usageinterval u
                 WHERE u.account_id = a.id AND u.ended IS NULL AND u.started < %(until)s OFFSET 0)
     OR EXISTS (SELECT FROM compute_usageinterval u
                 WHERE u.account_id = a.id AND u.ended > %(since)s AND u.ended > u.started
                   AND u.started < %(until)s OFFSET 0))
 ORDER BY a.id
 LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of an account, and its state."""

    account: Account
    state: str
    line: Line

    def values(self) -> dict[str, Any]:
        """Return the values of `COLUMNS`: numbers of accounts and resources, otherwise texts or None."""
        own = {
            "account_id": self.account.pk, "euuid": str(self.account.euuid), "company": self.account.company,
            "state": self.state,
        }  # fmt: skip
        values = own | as_json(self.line) | {"month": f"{self.line.month:%Y-%m}"}
        return {name: values[name] for name in COLUMNS}


def rows(month: date, account_id: int | None = None) -> Iterator[Row]:
    """Yield the lines of all accounts, or of one, in a month that has begun, by the accounts' ids.

    Lines are those of the statement. Without a statement, they are computed up to now. Only the lines of one
    account are in memory.
    """
    for account in _accounts(month, account_id):
        statement = UsageStatement.objects.filter(account=account, month=month).first()
        if statement is None:
            computed = lines(account.pk, start_of(month), start_of(next_month(month)))
            yield from (Row(account, PRELIMINARY, line) for line in computed)
        else:
            yield from (Row(account, FINAL, line) for line in lines_of(statement))


def _accounts(month: date, account_id: int | None) -> Iterator[Account]:
    """Yield accounts that have a statement or intervals of the month, in batches of bounded memory."""
    values = {"month": month, "since": start_of(month), "until": start_of(next_month(month)), "limit": BATCH}
    values.update(after=0 if account_id is None else account_id - 1, last=account_id)
    while batch := list(Account.objects.raw(_WITH_USAGE, values)):
        yield from batch
        values["after"] = batch[-1].pk
