"""Retention: expired rows are deleted once a day, in small batches that lock few rows."""

from datetime import timedelta
from importlib import import_module

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from oauth2_provider.models import clear_expired

from accounts.models import (
    Authorization,
    Event,
    Login,
    PersonalToken,
    PhoneVerification,
    SecondFactor,
    TokenLink,
    TrustedDevice,
)
from accounts.services.access import settle

BATCH = 1000


def delete_old() -> None:
    """Delete rows that nobody can see or use any more. It may run at any time, and stop at any point."""
    delete_in_batches(Event.objects.filter(created__lt=Now() - settings.EVENTS_KEPT))
    delete_in_batches(Login.objects.filter(created__lt=Now() - settings.LOGINS_KEPT))
    delete_in_batches(TrustedDevice.objects.filter(expiry__lt=Now()))
    delete_in_batches(PersonalToken.objects.filter(expiry__lt=Now()))
    delete_in_batches(TokenLink.objects.filter(expiry__lt=Now()))
    delete_in_batches(PhoneVerification.objects.filter(expiry__lt=Now()))
    _end_set_ups()
    clear_expired()
    _end_authorizations()
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()


def delete_in_batches(old: QuerySet) -> int:
    """Delete all rows of a queryset and return their number. Each batch is a transaction of its own."""
    deleted = 0
    while keys := list(old.order_by().values_list("pk", flat=True)[:BATCH]):
        deleted += old.filter(pk__in=keys).delete()[0]
    return deleted


def _end_set_ups() -> None:
    """Delete the secrets of second factors that were not confirmed in time."""
    late = SecondFactor.objects.filter(pending_until__lt=Now())
    delete_in_batches(late.filter(encrypted=None))
    late.update(pending=None, pending_until=None)


@transaction.atomic
def _end_authorizations() -> None:
    """Delete authorizations whose access has ended, and write missing ends of access of the previous release.

    The rows are locked first. If a row gets a token at this moment, its end is read after the token is there.
    """
    unended = Q(expiry=None, created__lt=Now() - timedelta(days=1))
    due = Authorization.objects.filter(Q(expiry__lte=Now()) | unended)
    settle(list(due.select_for_update(skip_locked=True).order_by("pk")[:BATCH]))
