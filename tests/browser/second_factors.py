"""A second factor for users who sign in by a browser, without the pages that set one up."""

import time

import pyotp

from accounts.models import SecondFactor, User
from accounts.services import second_factor
from config.encryption import encrypt_json

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def give_second_factor(user: User, *, scratch: str = "") -> None:
    """Enable the second factor with the secret of these tests. `scratch` is stored as the digest of the scratch
    code."""
    SecondFactor.objects.create(user=user, encrypted=encrypt_json({"secret": SECRET}), scratch=scratch)
    User.objects.filter(pk=user.pk).update(two_factor_auth=True)


def code(*, ahead: int = 0) -> str:
    """Return the authenticator app's code, now or `ahead` steps from now."""
    return pyotp.TOTP(SECRET).at(time.time() + ahead * second_factor.STEP_SECONDS)
