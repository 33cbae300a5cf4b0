"""Retention: rows past their time are deleted once a day, in small batches that lock little."""

from datetime import timedelta
from importlib import import_module

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Manager, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from oauth2_provider.models import clear_expired

from accounts.models import (
    Authorization,
    Event,
    Login,
    OAuthAccessToken,
    OAuthGrant,
    OAuthRefreshToken,
    PhoneVerification,
    SecondFactor,
    TrustedDevice,
)

BATCH = 1000


def delete_old() -> None:
    """Delete rows that nobody can see or use any more. May run as often as it likes, and stop anywhere."""
    delete_in_batches(Event.objects.filter(created__lt=Now() - settings.EVENTS_KEPT))
    delete_in_batches(Login.objects.filter(created__lt=Now() - settings.LOGINS_KEPT))
    delete_in_batches(TrustedDevice.objects.filter(expiry__lt=Now()))
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
    """Delete authorizations that have no code, access token or refresh token left.

    The rows are locked first and checked afterwards: a user who authorizes the client again at this moment updates
    the locked row in the transaction that writes the code. So either the check sees the code, or that transaction
    inserts a new row.
    """
    day_old = Authorization.objects.filter(created__lt=Now() - timedelta(days=1))
    refresh_tokens = OAuthRefreshToken.objects.filter(revoked=None)
    unused = day_old.exclude(_any(OAuthGrant.objects) | _any(OAuthAccessToken.objects) | _any(refresh_tokens))
    locked = list(unused.select_for_update(skip_locked=True).values_list("pk", flat=True)[:BATCH])
    unused.filter(pk__in=locked).delete()


def _any(rows: QuerySet | Manager) -> Q:
    """Whether there are such rows of the authorization's user and client."""
    return Q(Exists(rows.filter(user=OuterRef("user"), application=OuterRef("client"))))
