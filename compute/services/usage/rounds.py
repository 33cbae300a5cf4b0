"""Rounds of the clock over accounts: bounded runs that continue where the last one ended."""

import logging
import time
from collections.abc import Callable

from config.processes.notify import notify

log = logging.getLogger(__name__)

RUN_FOR = 20.0
"""Seconds after which a run begins no further account, and notifies another run."""
BATCH = 100
"""The number of accounts that one query finds."""


def visit_accounts(find: Callable[[int], list[int]], work: Callable[[int], int], task: str, after: int) -> int:
    """Call `work` for accounts in the order of their ids. Return the sum of its results.

    `find` returns the next ids after an id, a batch at most. After `RUN_FOR` seconds, the Celery task named `task`
    is notified, to continue after the last account. If `work` fails for an account, the error is logged, and the
    next round tries the account again.
    """
    deadline, done = time.monotonic() + RUN_FOR, 0
    while account_ids := find(after):
        for account_id in account_ids:
            try:
                done += work(account_id)
            except Exception:
                # the other accounts must not wait for this one
                log.exception("%s failed for account %s", task, account_id)
            after = account_id
            if time.monotonic() > deadline:
                notify(task, after)
                return done
    return done
