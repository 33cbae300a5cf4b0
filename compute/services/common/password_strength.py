"""Checking the strength of a root password, and generating a strong one."""

import secrets

from zxcvbn_rs_py import zxcvbn

WEAK = "Password does not meet strength requirement"
LEAST_SCORE = 2
"""The lowest accepted score of zxcvbn's scale 0..4. A score of 2 is more than 10^6 guesses, too many if each needs
a login at the machine."""
MAX_SCORE = 4
ALPHABET = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Letters and digits that people do not confuse."""
GROUPS, GROUP_LENGTH = 4, 5


def score(password: str) -> int:
    """Return the strength of the password on zxcvbn's scale 0..4, by its first 72 characters: more cannot weaken
    it."""
    return int(zxcvbn(password[:72]).score)


def is_strong(password: str) -> bool:
    """Whether zxcvbn scores the password high enough."""
    return score(password) >= LEAST_SCORE


def make_password() -> str:
    """Make a password of 20 random characters, more than 110 bits, such as ``kW4nt-pQ7Zx-9mRaB-e2HuD``."""
    groups = ("".join(secrets.choice(ALPHABET) for _ in range(GROUP_LENGTH)) for _ in range(GROUPS))
    return "-".join(groups)
