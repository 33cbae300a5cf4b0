"""Sessions in the database, encrypted, by a hash of their ids: a copy of the table signs nobody in.

What they hold may let somebody in as well: the token of a mailed address while its page is open, the verifier of a
sign-in with a provider. With other ENCRYPTION_KEYS, none of which fits, people sign in again.
"""

import hashlib
from typing import Any

from cryptography.fernet import InvalidToken
from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.utils.timezone import now

from config.encryption import decrypt_json, encrypt_json

HASH_LENGTH = 40
"""Hexadecimal digits of a stored hash: the length of the column. Ids have 32 characters."""


def hash_session_key(session_key: str) -> str:
    """Return the hash that the table has in place of a session's id. Ids are random: a plain hash is safe."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:HASH_LENGTH]


class SessionStore(db.SessionStore):
    """Django's store, in which only the browser has the id. Its methods for asynchronous code are not used here."""

    def encode(self, session_dict: dict[str, Any]) -> str:
        return encrypt_json(session_dict).decode()

    def decode(self, session_data: bytes | str) -> dict[str, Any]:
        """The values of a session; none where no key fits, as in rows of an earlier release."""
        try:
            return decrypt_json(session_data.encode() if isinstance(session_data, str) else session_data)
        except InvalidToken:
            return {}

    def _get_session_from_db(self) -> Session | None:
        key = self.session_key
        current = Session.objects.filter(expire_date__gt=now())
        found = None if key is None else current.filter(session_key=hash_session_key(key)).first()
        if found is None:
            self._session_key = None  # an id that nobody gave out is never taken on
        return found

    def exists(self, session_key: str) -> bool:
        return super().exists(hash_session_key(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        instance = super().create_model_instance(data)
        instance.session_key = hash_session_key(instance.session_key)
        return instance

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            super().delete(hash_session_key(key))
