"""The demo account of ``make serve``."""

import pytest

from accounts.models import Account, GlobalGrants, User
from accounts.services.demo import ensure_demo

pytestmark = pytest.mark.django_db


def test_the_demo_account_has_its_three_users():
    ensure_demo(staff_password="for-staff", owner_password="for-owner")
    owner, restricted, staff = (User.objects.get(username=name) for name in ("owner", "restricted", "staff"))
    assert owner.account == restricted.account == Account.objects.get(company="Demo")
    assert (owner.restricted, restricted.restricted) == (False, True)
    assert (staff.is_staff, staff.is_superuser, staff.account) == (True, True, None)
    assert owner.check_password("for-owner")
    assert staff.check_password("for-staff")
    assert not restricted.has_usable_password()
    grants = GlobalGrants.objects.get(user=restricted)
    assert (grants.account_access, grants.add_computes) == ("read_only", False)


def test_the_demo_account_is_made_once_and_its_passwords_follow():
    ensure_demo(staff_password="first", owner_password="first")
    GlobalGrants.objects.update(add_computes=True)
    ensure_demo(staff_password="second", owner_password="second")
    assert (Account.objects.count(), User.objects.count()) == (1, 3)
    assert User.objects.get(username="owner").check_password("second")
    assert GlobalGrants.objects.get().add_computes
