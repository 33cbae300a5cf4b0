"""Encrypts secrets that must be read back: data of jobs and mails, TOTP secrets, managed credentials.

The keys are the setting ENCRYPTION_KEYS: the first encrypts, all decrypt. Each is stretched, so that every guess at
a key costs time to a person with a copy of the database. `manage.py rotate_keys` re-encrypts every `EncryptedField`
with the first key.
"""

import base64
import hashlib
import json
from functools import cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models


class EncryptedField(models.BinaryField):
    """A column for the result of `encrypt_json`. `rotate_keys` finds such columns by this class."""


SALT = b"config.encryption"
"""The same salt everywhere: all processes derive one key. A key is long enough to be unique."""
COST, BLOCK = 2**14, 8
"""Parameters of scrypt: 16 MB and some 40 ms for each key, once in a process."""


@cache
def _stretched(key: str) -> Fernet:
    derived = hashlib.scrypt(key.encode(), salt=SALT, n=COST, r=BLOCK, p=1, dklen=32)
    return Fernet(base64.urlsafe_b64encode(derived))


def _plain(key: str) -> Fernet:
    """Return the key in the form of earlier releases, so that their data can still be decrypted."""
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()))


@cache
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([*map(_stretched, keys), *map(_plain, keys)])


def encrypt_json(secrets: dict[str, Any]) -> bytes:
    """Encrypt an object of JSON values with the first of ``settings.ENCRYPTION_KEYS``."""
    return _fernet(tuple(settings.ENCRYPTION_KEYS)).encrypt(json.dumps(secrets).encode())


def decrypt_json(encrypted: bytes | memoryview) -> dict[str, Any]:
    """Decrypt the object with the key that fits. Raises `cryptography.fernet.InvalidToken` if none does."""
    return json.loads(_fernet(tuple(settings.ENCRYPTION_KEYS)).decrypt(bytes(encrypted)))


def reencrypt(encrypted: bytes | memoryview) -> bytes | None:
    """Return the same secrets encrypted with the first key, or None if they already are.

    Raises `cryptography.fernet.InvalidToken` if no key fits.
    """
    first, *_ = keys = tuple(settings.ENCRYPTION_KEYS)
    try:
        _stretched(first).decrypt(bytes(encrypted))
    except InvalidToken:
        return _fernet(keys).rotate(bytes(encrypted))
    return None


SealedField = EncryptedField  # the first migrations use this name
