"""The demo account of ``make serve``."""

import pytest

from accounts.actors import Actor
from accounts.models import Account, GlobalGrants, PersonalToken, User
from accounts.services.demo import ensure_demo, ensure_token
from accounts.services.tokens import create_token
from tests.client import APIClient

pytestmark = pytest.mark.django_db


def demo(password: str) -> Actor | None:
    return ensure_demo(staff_password=password, owner_password=password, restricted_password=password)


def test_the_demo_account_has_its_three_users():
    ensure_demo(staff_password="for-staff", owner_password="for-owner", restricted_password="for-restricted")
    owner, restricted, staff = (User.objects.get(username=name) for name in ("owner", "restricted", "staff"))
    assert owner.account == restricted.account == Account.objects.get(company="Demo")
    assert (owner.account.extra_ipv4, owner.account.managed) == (6, True)
    assert (owner.restricted, restricted.restricted) == (False, True)
    assert (staff.is_staff, staff.is_superuser, staff.account) == (True, True, None)
    assert owner.check_password("for-owner")
    assert staff.check_password("for-staff")
    assert restricted.check_password("for-restricted")
    grants = GlobalGrants.objects.get(user=restricted)
    assert (grants.account_access, grants.add_computes) == ("read_only", False)


def test_the_demo_account_is_made_once_and_its_passwords_follow():
    made = demo("first")
    assert made == Actor(Account.objects.get().pk, User.objects.get(username="owner").pk, "owner")
    GlobalGrants.objects.update(add_computes=True)
    Account.objects.update(company="Another name")
    assert demo("second") is None
    assert (Account.objects.count(), User.objects.count()) == (1, 3)
    assert all(user.check_password("second") for user in User.objects.all())
    assert GlobalGrants.objects.get().add_computes


def test_a_token_that_works_is_kept():
    demo("word")
    first = ensure_token("owner", "")
    assert ensure_token("owner", first) == first
    assert PersonalToken.objects.count() == 1
    assert APIClient(first).get("/v4/account").status_code == 200


@pytest.mark.parametrize("change", [{"scopes": "events:read_only"}, {"expiry": "2001-01-01T00:00:00Z"}])
def test_a_token_that_does_not_do_any_more_is_replaced(change):
    demo("word")
    first = ensure_token("owner", "")
    PersonalToken.objects.update(**change)
    second = ensure_token("owner", first)
    assert second != first
    assert ensure_token("owner", second) == second
    assert PersonalToken.objects.count() == 1, "the old one has gone"


def test_nobody_gets_anothers_token_and_tokens_of_ones_own_stay():
    demo("word")
    owner = User.objects.get(username="owner")
    create_token(owner, "mine")
    readable = ensure_token("owner", "")
    restricted = ensure_token("restricted", readable)
    assert restricted != readable
    assert ensure_token("owner", "") not in (readable, restricted)
    assert ensure_token("restricted", restricted) == restricted
    assert owner.personal_tokens.filter(label="mine").exists()
