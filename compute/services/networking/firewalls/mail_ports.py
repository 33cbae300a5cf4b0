"""The mail ports, TCP 25, 465 and 587, and the accounts whose instances may connect out to them.

If the mail ports of an account are closed, hosts drop new connections of its instances out to them, whatever the
customer's firewalls say. They are closed for accounts opened after the day in MAIL_PORTS_CLOSED_AFTER, unless staff
decided otherwise for the account.

A host is only notified of changes of an instance's packet filter. So the packet filter repeats whether the mail
ports are closed: a new instance's from the start, and `set_open` writes the filters of all existing instances.
`keep` finds other differences: after a new day in the settings, or if an instance was created meanwhile or by a web
process of an earlier release.
"""

from datetime import UTC, datetime, time

from django.conf import settings
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.db.models.functions import Coalesce

from accounts.actors import Actor
from accounts.models import Account
from accounts.services.account import lock_account
from accounts.services.events import record_event
from accounts.services.refs import account_ref
from compute.models import Instance
from compute.services.common.locks import lock_present
from compute.services.networking.firewalls import delivery
from config import word
from config.db.rows import write
from config.errors import Invalid

OPENED = word.sentence("The computes can now open connections to the TCP ports 25, 465 and 587.")
CLOSED = word.sentence("New connections from the computes to the TCP ports 25, 465 and 587 are dropped.")
MAIL_PORTS = (25, 465, 587)
BATCH = 500
"""The most instances whose packet filters `keep` writes in one transaction."""

CLOSED_SQL = "NOT COALESCE(a.mail_ports_open, a.created <= %(mail_ports_closed_after)s)"
"""`are_closed` in SQL, of the account `a`; the parameter is `closed_after()`."""


def closed_after() -> datetime:
    """Return the moment after which accounts are opened with closed mail ports; the end of time if none are."""
    day = settings.MAIL_PORTS_CLOSED_AFTER
    return datetime.max.replace(tzinfo=UTC) if day is None else datetime.combine(day, time.max, UTC)


def are_closed(account: Account) -> bool:
    """Tell whether instances of the account must not connect out to mail ports."""
    if account.mail_ports_open is not None:
        return not account.mail_ports_open
    return account.created > closed_after()


@transaction.atomic
def set_open(actor: Actor, account: Account, wanted: bool) -> int:
    """Open the mail ports of an account, or close them; for staff. Writes ``account_update``.

    Returns the number of instances whose hosts are being notified. Raises `Invalid` if the ports are in that state
    already.
    """
    locked = lock_account(account.pk)
    if are_closed(locked) != wanted:
        raise Invalid(f"The mail ports of the account are {'open' if wanted else 'closed'} already.")
    write(locked, {"mail_ports_open": wanted}, "updated")
    account.mail_ports_open = wanted
    record_event(actor, "account_update", account_ref(locked), message=OPENED if wanted else CLOSED)
    return _renew(_differing(closed=not wanted).filter(account=locked), closed=not wanted)


def keep() -> int:
    """Write the packet filters that differ from their account's state; returns how many.

    Reads all instances: the clock calls it every few minutes.
    """
    number = 0
    for closed in (True, False):
        while found := _keep_batch(closed):
            number += found
    return number


@transaction.atomic
def _keep_batch(closed: bool) -> int:
    return _renew(_differing(closed)[:BATCH], closed)


def _differing(closed: bool) -> QuerySet[Instance]:
    """Return the instances whose mail ports should be `closed` (or open), and are not so in their packet filter.

    Without a packet filter, a host drops nothing.
    """
    older = ExpressionWrapper(Q(account__created__lte=closed_after()), output_field=BooleanField())
    opened = Coalesce("account__mail_ports_open", older)
    delivered = Coalesce("packet_filter__mail_ports_closed", False)
    rows = Instance.objects.alias(opened=opened, delivered=delivered)
    return rows.filter(opened=not closed, delivered=not closed).order_by("pk")


def _renew(instances: QuerySet[Instance], closed: bool) -> int:
    """Record for the hosts of these instances that mail ports are `closed`, or open; returns how many instances."""
    locked = lock_present(list(instances.values_list("pk", flat=True)))
    delivery.changed(locked, mail_ports_closed=closed)
    return len(locked)
