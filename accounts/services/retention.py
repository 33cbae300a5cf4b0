"""Retention: rows past their time are deleted once a day, in small batches that lock little."""

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
    """Delete rows that nobody can see or use any more. May run as often as it likes, and stop anywhere."""
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
    """Delete all of a queryset and return how many, each batch in a transaction of its own."""
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
    """Delete authorizations whose access has ended, and write the end of access where the release before this one
    left it out.

    The rows are locked first: of one that gets a token at this moment the end is read when that is there.
    """
    unended = Q(expiry=None, created__lt=Now() - timedelta(days=1))
    due = Authorization.objects.filter(Q(expiry__lte=Now()) | unended)
    settle(list(due.select_for_update(skip_locked=True).order_by("pk")[:BATCH]))
