"""The mails about usage that a customer chooses: statements, and the threshold of a month's amount."""

import re
from decimal import Decimal

from django.db import transaction

from accounts.actors import Actor
from accounts.services.account import lock_account
from accounts.services.events import record_event
from accounts.services.refs import settings_ref
from compute.models import UsageSettings
from config.errors import Invalid

AMOUNT_TEXT = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?")
MAX_THRESHOLD = Decimal("9999999999.99")
WRONG_THRESHOLD = (
    "The threshold must be an amount in USD from 0.01 to 9999999999.99, such as 25.00. Leave it empty for no mail."
)


def settings_of(account_id: int) -> UsageSettings:
    """Return the settings of an account; the defaults if the customer has chosen nothing."""
    return UsageSettings.objects.filter(pk=account_id).first() or UsageSettings(account_id=account_id)


def read_threshold(text: str) -> Decimal | None:
    """Return the threshold that a text names, None for an empty text. Raises `Invalid` on ``threshold``."""
    if not text.strip():
        return None
    if not AMOUNT_TEXT.fullmatch(text.strip()):
        raise Invalid(WRONG_THRESHOLD, "threshold")
    return check_threshold(Decimal(text.strip()))


def check_threshold(threshold: Decimal) -> Decimal:
    """Return the threshold with two decimals. Raises `Invalid` on ``threshold`` if it cannot be stored."""
    if not threshold.is_finite() or not 0 < threshold <= MAX_THRESHOLD or threshold != round(threshold, 2):
        raise Invalid(WRONG_THRESHOLD, "threshold")
    return round(threshold, 2)


@transaction.atomic
def update(actor: Actor, *, mail_statements: bool, threshold: Decimal | None) -> UsageSettings:
    """Save the settings of the actor's account, with an event if they change.

    A month of which the account was mailed already is mailed again if it passes a threshold that is higher than
    the one before. Raises `Invalid` on ``threshold``.
    """
    wanted = None if threshold is None else check_threshold(threshold)
    account = lock_account(actor.account_id)
    found, _ = UsageSettings.objects.get_or_create(account=account)
    before = found.mail_statements, found.threshold
    found.mail_statements, found.threshold = mail_statements, wanted
    if (mail_statements, wanted) == before:
        return found
    changed = ["mail_statements", "threshold"]
    if wanted is not None and (before[1] is None or wanted > before[1]):
        found.warned_month = None
        changed.append("warned_month")
    # otherwise not `warned_month`: the clock may be writing it at this moment
    found.save(update_fields=changed)
    record_event(actor, "account_settings_update", settings_ref(account))
    return found
