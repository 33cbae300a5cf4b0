"""Hashes of passwords as Linux keeps them in /etc/shadow: "$6$", after Ulrich Drepper's specification of SHA-crypt.

Python has no crypt(3) since 3.13. Hashes are made on the platform's side, so that no host sees a password.
"""

import hashlib
import secrets

ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ROUNDS, LEAST_ROUNDS, MAX_ROUNDS = 5000, 1000, 999_999_999
SALT = 16
# The bytes of the digest that make four characters, in the order of the specification. The last byte makes two
_GROUPS = [(n * 22 % 63, (n * 22 + 21) % 63, (n * 22 + 42) % 63) for n in range(21)]


def sha512_crypt(password: str, salt: str | None = None, rounds: int | None = None) -> str:
    """The hash of a password in the form of /etc/shadow. The default salt is random."""
    chosen = "".join(secrets.choice(ALPHABET) for _ in range(SALT)) if salt is None else salt[:SALT]
    count = ROUNDS if rounds is None else min(max(rounds, LEAST_ROUNDS), MAX_ROUNDS)
    digest = _digest(password.encode(), chosen.encode(), count)
    prefix = "" if rounds is None else f"rounds={count}$"
    return f"$6${prefix}{chosen}${_encoded(digest)}"


def _digest(password: bytes, salt: bytes, rounds: int) -> bytes:
    both = hashlib.sha512(password + salt + password).digest()
    first = hashlib.sha512(password + salt + _repeated(both, len(password)))
    length = len(password)
    while length:
        first.update(both if length & 1 else password)
        length >>= 1
    digest = first.digest()
    p = _repeated(hashlib.sha512(password * len(password)).digest(), len(password))
    s = _repeated(hashlib.sha512(salt * (16 + digest[0])).digest(), len(salt))
    for turn in range(rounds):
        digest = hashlib.sha512(
            (p if turn & 1 else digest)
            + (s if turn % 3 else b"")
            + (p if turn % 7 else b"")
            + (digest if turn & 1 else p)
        ).digest()
    return digest


def _repeated(block: bytes, length: int) -> bytes:
    return (block * (length // len(block) + 1))[:length]


def _encoded(digest: bytes) -> str:
    groups = [(digest[a] << 16 | digest[b] << 8 | digest[c], 4) for a, b, c in _GROUPS]
    groups.append((digest[63], 2))
    return "".join(ALPHABET[value >> 6 * at & 63] for value, count in groups for at in range(count))
