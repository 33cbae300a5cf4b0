"""Whether a root password is strong enough."""

from zxcvbn_rs_py import zxcvbn

WEAK = "Password does not meet strength requirement"
LEAST_SCORE = 3
"""Of 0..4: 3 resists about 10^8 offline guesses."""


def is_strong(password: str) -> bool:
    """By the zxcvbn estimator. Only the first 72 characters are looked at: more cannot make it weaker."""
    return int(zxcvbn(password[:72]).score) >= LEAST_SCORE
