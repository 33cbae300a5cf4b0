"""The demo account of ``make serve``."""

import hashlib
from typing import Any

from django.db import transaction

from accounts.actors import Actor
from accounts.models import Account, GlobalGrants, Level, PersonalToken, User
from accounts.quotas import UNLIMITED
from accounts.services.tokens import create_token

OWNER, RESTRICTED, STAFF = "owner", "restricted", "staff"
TOKEN_LABEL = "make serve"
EXTRA_ADDRESSES = 6
"""Public addresses beyond one for each compute, for trying functions that need a second address."""


@transaction.atomic
def ensure_demo(
    staff_password: str, owner_password: str, restricted_password: str, *, staff_account: bool = False
) -> Actor | None:
    """Create missing parts of the demo: an account with an unrestricted and a restricted user, and a staff user.

    Managed monitoring is enabled on a new account, so that all examples of the API reference work there. Existing
    rows are kept, except that passwords which do not match are set. With `staff_account`, a new staff user belongs
    to another such account: tokens need an account. Returns the owner if the demo account is new.
    """
    account, created = _account(OWNER, "Demo", "demo@example.com")
    owner = _user(OWNER, account=account)
    restricted = _user(RESTRICTED, account=account, restricted=True)
    GlobalGrants.objects.get_or_create(user=restricted, defaults={"account_access": Level.READ_ONLY})
    own = _account(STAFF, "Staff", "staff@example.com")[0] if staff_account else None
    staff = _user(STAFF, account=own, is_staff=True, is_superuser=True)
    passwords = ((owner, owner_password), (staff, staff_password), (restricted, restricted_password))
    for user, password in passwords:
        if not user.check_password(password):
            user.set_password(password)
            user.save(update_fields=["password"])
    return Actor(account.pk, owner.pk, owner.username) if created else None


@transaction.atomic
def ensure_token(username: str, readable: str) -> str:
    """Return a token of the user with all scopes and no expiry: `readable` if it is such a token, else a new one.

    A new token replaces those that earlier starts made for the user.
    """
    user = User.objects.get(username=username)
    tokens = PersonalToken.objects.filter(user=user)
    digest = hashlib.sha256(readable.encode()).hexdigest()
    if tokens.filter(digest=digest, scopes="*", expiry=None).exists():
        return readable
    tokens.filter(label=TOKEN_LABEL).delete()
    _, fresh = create_token(user, TOKEN_LABEL, scopes="*", expiry=None)
    return fresh


def _account(username: str, company: str, email: str) -> tuple[Account, bool]:
    """Return the account, and whether it is new.

    If the user exists, it is the user's account, whose company may have changed since.
    """
    if existing := Account.objects.filter(users__username=username).first():
        return existing, False
    return Account.objects.get_or_create(
        company=company,
        defaults={"email": email, "extra_ipv4": EXTRA_ADDRESSES, "managed": True, "trust_level": UNLIMITED},
    )


def _user(username: str, **fields: Any) -> User:
    existing = User.objects.filter(username=username).first()
    return existing or User.objects.create_user(username, f"{username}@example.com", **fields)
