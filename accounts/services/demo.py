"""The demo account of ``make serve``."""

from django.db import transaction

from accounts.models import Account, GlobalGrants, Level, User

OWNER, RESTRICTED, STAFF = "owner", "restricted", "staff"


@transaction.atomic
def ensure_demo(staff_password: str, owner_password: str) -> None:
    """Make what is not there yet: an account with an unrestricted and a restricted user, and a staff user.

    What is there is left as it is, except that the two passwords are set if they do not fit.
    """
    account, _ = Account.objects.get_or_create(company="Demo", defaults={"email": "demo@example.com"})
    owner = _user(OWNER, account=account)
    restricted = _user(RESTRICTED, account=account, restricted=True)
    GlobalGrants.objects.get_or_create(user=restricted, defaults={"account_access": Level.READ_ONLY})
    staff = _user(STAFF, is_staff=True, is_superuser=True)
    for user, password in ((owner, owner_password), (staff, staff_password)):
        if not user.check_password(password):
            user.set_password(password)
            user.save(update_fields=["password"])


def _user(username: str, **fields) -> User:
    existing = User.objects.filter(username=username).first()
    return existing or User.objects.create_user(username, f"{username}@example.com", **fields)
