"""The hash of passwords: one thread for each guess. Hashes with earlier parameters stay valid."""

import argon2
import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, check_password

from accounts.hashers import PasswordHasher

WORDS = "correct horse battery staple"


def test_a_guess_takes_one_thread_and_a_third_of_the_memory_of_djangos():
    assert PasswordHasher.parallelism == 1
    assert (
        argon2.extract_parameters(PasswordHasher().encode(WORDS, "x" * 16).removeprefix("argon2")).parallelism == 1
    )
    assert PasswordHasher.algorithm == Argon2PasswordHasher.algorithm


@pytest.mark.parametrize("right", [True, False])
def test_a_hash_with_djangos_parameters_is_good_and_replaced_when_its_password_was_right(right, monkeypatch):
    monkeypatch.setattr(Argon2PasswordHasher, "memory_cost", 8 * 8)  # as little as eight threads allow
    earlier = Argon2PasswordHasher().encode(WORDS, "x" * 16)
    assert "p=8" in earlier
    replaced: list[str] = []
    assert check_password(WORDS if right else "wrong", earlier, replaced.append) is right
    assert replaced == ([WORDS] if right else [])
