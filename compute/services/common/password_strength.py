"""Whether a root password is strong enough."""

from zxcvbn_rs_py import zxcvbn

WEAK = "Password does not meet strength requirement"
LEAST_SCORE = 2
"""Of zxcvbn's scale 0..4: 2 is more than 10^6 guesses, too many for who has to ask the machine for each."""


def is_strong(password: str) -> bool:
    """Whether zxcvbn scores the password high enough. Its first 72 characters decide: more cannot weaken it."""
    return int(zxcvbn(password[:72]).score) >= LEAST_SCORE
