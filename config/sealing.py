"""Encrypts what must be read back but may be readable nowhere: what jobs and mails carry, TOTP secrets."""

import base64
import hashlib
import json
from functools import cache
from typing import Any

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings


@cache
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest())) for key in keys])


def seal(secrets: dict[str, Any]) -> bytes:
    """Encrypt a JSON-able object with the first of ``settings.ENCRYPTION_KEYS``."""
    return _fernet(tuple(settings.ENCRYPTION_KEYS)).encrypt(json.dumps(secrets).encode())


def unseal(sealed: bytes | memoryview) -> dict[str, Any]:
    """The object back, with whichever key fits. Raises `cryptography.fernet.InvalidToken` when none does."""
    return json.loads(_fernet(tuple(settings.ENCRYPTION_KEYS)).decrypt(bytes(sealed)))
