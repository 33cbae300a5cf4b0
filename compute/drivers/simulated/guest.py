"""Digests of the secrets of a deployed guest. A real guest would have such digests in /etc/shadow."""

import base64
import binascii
import hashlib
import hmac
import os

# About the cost of sha512-crypt's default (some milliseconds): the simulation must not slow jobs down.
COST = {"n": 2**10, "r": 8, "p": 1}


def password_hash(password: str) -> str:
    """A salted scrypt digest, ``scrypt$<salt>$<digest>`` in hex."""
    salt = os.urandom(16)
    return f"scrypt${salt.hex()}${_digest(password, salt)}"


def password_matches(password: str, stored: str) -> bool:
    """Tell whether `stored`, a result of `password_hash`, is the digest of `password`."""
    _, salt, digest = stored.split("$")
    return hmac.compare_digest(_digest(password, bytes.fromhex(salt)), digest)


def fingerprint(public_key: str) -> str:
    """The fingerprint of an OpenSSH public key line, as ``ssh-keygen -l`` prints it (``SHA256:…``).

    A guest would skip a line without a key. For such a line, this is the digest of the whole line.
    """
    fields = public_key.split()
    try:
        blob = base64.b64decode(fields[1], validate=True)
    except (IndexError, binascii.Error):
        blob = public_key.encode()
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def _digest(password: str, salt: bytes) -> str:
    return hashlib.scrypt(password.encode(), salt=salt, **COST).hex()
