"""The hash of passwords."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class PasswordHasher(Argon2PasswordHasher):
    """Argon2id with 46 MiB, two passes and one thread: twice what OWASP asks for at least.

    Django's own parameters (100 MiB in eight threads) take all cores of a small machine for each guess at a
    password. Hashes with those are verified as ever, and replaced at the next login; until then a guess at such a
    password takes longer than one at a name that nobody has.
    """

    time_cost = 2
    memory_cost = 46 * 1024
    parallelism = 1
