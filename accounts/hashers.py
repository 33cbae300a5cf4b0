"""The hash of passwords."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class PasswordHasher(Argon2PasswordHasher):
    """Argon2id with 46 MiB, two passes and one thread: twice the minimum that OWASP recommends.

    With Django's own parameters (100 MiB in eight threads), each guess at a password takes all cores of a small
    machine. Hashes with those parameters are still verified, and replaced at the next login. Until then, a guess at
    such a password takes longer than a guess for a name that does not exist.
    """

    time_cost = 2
    memory_cost = 46 * 1024
    parallelism = 1
