"""Suspending and restoring accounts and users: what ends for good, and what works again."""

from collections.abc import Callable

import pytest

from accounts.actors import Actor
from accounts.models import Account, TrustedDevice, User
from accounts.services.suspension import set_account_active, set_user_active
from tests.compute.at_consoles import signed_in
from tests.factories import TrustedDeviceFactory

pytestmark = pytest.mark.django_db


def acting(account: Account) -> Actor:
    return Actor(account.pk, username="staff", is_staff=True)


def set_account(user: User, active: bool) -> None:
    account = Account.objects.get(pk=user.account_id)
    set_account_active(acting(account), account, active, "They asked.")


def set_user(user: User, active: bool) -> None:
    user = User.objects.get(pk=user.pk)
    set_user_active(acting(user.account), user, active, "They asked.")


@pytest.mark.parametrize("set_active", [set_account, set_user])
def test_sessions_end_for_good_and_tokens_work_again(
    owner, stranger, api, set_active: Callable[[User, bool], None]
):
    browser, other = signed_in(owner), signed_in(stranger)
    TrustedDeviceFactory(user=owner)
    stranger_s = TrustedDeviceFactory(user=stranger)

    set_active(owner, False)

    assert browser.get("/home/profile").status_code == 302
    assert api.get("/v4/profile").status_code == 401
    assert list(TrustedDevice.objects.all()) == [stranger_s], "The second factor is asked for again."

    set_active(owner, True)

    assert browser.get("/home/profile").status_code == 302
    assert api.get("/v4/profile").status_code == 200
    assert signed_in(User.objects.get(pk=owner.pk)).get("/home/profile").status_code == 200
    assert other.get("/home/profile").status_code == 200
