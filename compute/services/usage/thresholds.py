"""Thresholds: a mail when the amount of the current month passes the threshold that the customer set."""

from datetime import date

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.services import outbox
from compute.models import UsageSettings
from compute.services.common.months import month_of, next_month, start_of
from compute.services.usage import clock
from compute.services.usage.reports import summary
from compute.services.usage.rounds import BATCH, visit_accounts
from compute.services.usage.statements import amounts_by_kind, in_cents

TASK_NAME = "compute.worker.check_thresholds"


def check_thresholds(after: int = 0) -> int:
    """Mail the accounts whose amount of this month is above their threshold, and return their number.

    An account gets one such mail in a month. The arguments and the bounds are those of `visit_accounts`. Any number
    of clocks may run this at once.
    """
    month = month_of(clock.now())

    def find(last: int) -> list[int]:
        return list(_unwarned(month).filter(pk__gt=last).values_list("pk", flat=True)[:BATCH])

    return visit_accounts(find, lambda account_id: _check(account_id, month), TASK_NAME, after)


def _unwarned(month: date) -> QuerySet[UsageSettings]:
    """Return the settings with a threshold, of accounts that got no mail in this month."""
    unwarned = Q(warned_month=None) | Q(warned_month__lt=month)
    return UsageSettings.objects.filter(unwarned, threshold__isnull=False).order_by("pk")


@transaction.atomic
def _check(account_id: int, month: date) -> bool:
    """Mail an account if its amount of this month is above its threshold."""
    usage = summary(account_id, start_of(month), start_of(next_month(month)))
    total = in_cents(usage.total)
    # the threshold may have changed, and another process may have sent the mail
    passed = _unwarned(month).filter(pk=account_id, threshold__lt=total)
    if not passed.update(warned_month=month):
        return False
    settings = UsageSettings.objects.select_related("account").get(pk=account_id)
    if not settings.account.email:
        return False
    context = {
        "account": settings.account, "month": month, "total": total, "threshold": settings.threshold,
        "kinds": amounts_by_kind(usage.groups),
    }  # fmt: skip
    outbox.mail_to(settings.account.email, "usage_threshold", context)
    return True
