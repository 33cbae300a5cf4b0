"""How long records are kept, and that nothing else is deleted."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.utils.timezone import now

from accounts.models import (
    Authorization,
    Event,
    Login,
    OAuthAccessToken,
    OAuthRefreshToken,
    PersonalToken,
    PhoneVerification,
    SecondFactor,
    TrustedDevice,
)
from accounts.services import access, retention
from accounts.tasks import delete_old
from compute.models import Job
from compute.worker import tasks
from config.encryption import encrypt_json
from tests.factories import EventFactory, OAuthClientFactory, PersonalTokenFactory, TrustedDeviceFactory

pytestmark = pytest.mark.django_db


def age(row, days: int, field: str = "created"):
    type(row).objects.filter(pk=row.pk).update(**{field: now() - timedelta(days=days)})
    return row


def left(model) -> set:
    return set(model.objects.values_list("pk", flat=True))


def test_events_and_logins_of_a_year_are_kept(owner):
    kept, _ = (age(EventFactory(account=owner.account), days) for days in (364, 366))
    logins = [
        Login.objects.create(user=owner, username="owner", restricted=False, ip="192.0.2.1") for _ in range(2)
    ]
    for login, days in zip(logins, (364, 366), strict=True):
        age(login, days)
    delete_old()
    assert left(Event) == {kept.pk}
    assert left(Login) == {logins[0].pk}


def test_batches_leave_none_out(owner, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    for days in (400, 400, 400, 400, 400, 1):
        age(EventFactory(account=owner.account), days)
    delete_old()
    assert Event.objects.count() == 1


def test_forgotten_browsers_and_codes_that_ran_out_go(owner, stranger):
    kept = TrustedDeviceFactory(user=owner)
    TrustedDeviceFactory(user=owner, expiry=now() - timedelta(minutes=1))
    sent = {"number": "+4722334455", "encrypted": encrypt_json({"code": "1"})}
    PhoneVerification.objects.create(user=owner, expiry=now() - timedelta(minutes=1), **sent)
    valid = PhoneVerification.objects.create(user=stranger, expiry=now() + timedelta(minutes=1), **sent)
    Session.objects.create(session_key="over", session_data="", expire_date=now() - timedelta(minutes=1))
    delete_old()
    assert left(TrustedDevice) == {kept.pk}
    assert left(PhoneVerification) == {valid.pk}
    assert not Session.objects.exists()


def test_personal_tokens_that_ran_out_go(owner):
    late, soon = now() - timedelta(minutes=1), now() + timedelta(minutes=1)
    kept = {PersonalTokenFactory(user=owner, expiry=expiry).pk for expiry in (soon, None)}
    PersonalTokenFactory(user=owner, expiry=late)
    delete_old()
    assert left(PersonalToken) == kept


def test_unconfirmed_second_factors_are_deleted_and_confirmed_ones_kept(owner, stranger, restricted):
    late, soon = now() - timedelta(minutes=1), now() + timedelta(minutes=1)
    secret = encrypt_json({"secret": "S"})
    SecondFactor.objects.create(user=owner, encrypted=secret, pending=secret, pending_until=late)
    SecondFactor.objects.create(user=stranger, pending=secret, pending_until=late)
    SecondFactor.objects.create(user=restricted, pending=secret, pending_until=soon)
    delete_old()
    assert left(SecondFactor) == {owner.pk, restricted.pk}
    on = SecondFactor.objects.get(user=owner)
    assert on.encrypted is not None
    assert on.pending is None
    assert on.pending_until is None
    assert SecondFactor.objects.get(user=restricted).pending is not None


def authorize(user, client, *, token: timedelta | None = None, refresh: bool = False) -> Authorization:
    """Create an authorization of two days ago, with an access token that expires after `token`."""
    found = Authorization.objects.create(user=user, client=client, scopes="*")
    if token is not None:
        made = OAuthAccessToken.objects.create(
            user=user, application=client, token=f"token {found.pk}", scope="*", expires=now() + token
        )
        if refresh:
            OAuthRefreshToken.objects.create(
                user=user, application=client, token=f"r {found.pk}", access_token=made
            )
    return age(found, 2)


def end_of(authorization: Authorization) -> datetime | None:
    return Authorization.objects.get(pk=authorization.pk).expiry


def test_apps_whose_access_is_over_are_apps_no_more(owner):
    over = authorize(owner, OAuthClientFactory(), token=timedelta(hours=-1))
    never = authorize(owner, OAuthClientFactory())
    live = authorize(owner, OAuthClientFactory(), token=timedelta(hours=1))
    refreshing = authorize(owner, OAuthClientFactory(), token=timedelta(hours=-1), refresh=True)
    idle = authorize(owner, OAuthClientFactory(), token=timedelta(days=-100), refresh=True)
    fresh = Authorization.objects.create(user=owner, client=OAuthClientFactory(), scopes="*")
    ended = authorize(owner, OAuthClientFactory())
    Authorization.objects.filter(pk=ended.pk).update(expiry=now() - timedelta(minutes=1))
    delete_old()
    assert left(Authorization) == {live.pk, refreshing.pk, fresh.pk}
    assert end_of(live) == OAuthAccessToken.objects.get(application=live.client).expires
    assert end_of(refreshing) == OAuthAccessToken.objects.get(application=refreshing.client).expires + timedelta(90)
    assert not OAuthAccessToken.objects.filter(application__in=[over.client, never.client, idle.client]).exists()
    assert OAuthRefreshToken.objects.get().application == refreshing.client


@pytest.mark.django_db(transaction=True)
def test_an_app_that_is_authorized_again_at_that_moment_stays(owner):
    """The old row is checked while the transaction that writes the app's new token is not yet committed."""
    client = OAuthClientFactory()
    over = authorize(owner, client)
    Authorization.objects.update(expiry=now() - timedelta(hours=1))

    def delete():
        try:
            retention._end_authorizations()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            authorization = access.lock_authorization(owner, client)
            pool.submit(delete).result(timeout=120)
            end = now() + timedelta(hours=2)
            OAuthAccessToken.objects.create(user=owner, application=client, token="t", expires=end)
            access.settle([authorization])
        pool.submit(delete).result(timeout=120)
    kept = Authorization.objects.get(user=owner, client=client)
    assert (kept.pk, kept.expiry) == (over.pk, end)


def test_jobs_that_finished_long_ago_go_and_live_ones_never():
    span = {"kind": "boot", "step": "boot", "deadline_at": now()}
    old = Job.objects.create(state="done", finished_at=now() - timedelta(days=91), **span)
    recent = Job.objects.create(state="failed", finished_at=now() - timedelta(days=89), **span)
    live = Job.objects.create(state="active", created=now() - timedelta(days=300), **span)
    tasks.delete_old()
    assert left(Job) == {recent.pk, live.pk}
    assert old.pk not in left(Job)
