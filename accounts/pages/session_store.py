"""Sessions in the database, encrypted, by a hash of their ids: a copy of the table signs nobody in.

Their content may give access as well: the token of a mailed address while its page is open, the verifier of a
sign-in with a provider. If none of the ENCRYPTION_KEYS fits, people must sign in again.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cryptography.fernet import InvalidToken
from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.models import Session
from django.db import OperationalError, transaction
from django.http import HttpRequest
from django.utils.timezone import now

from config.db.rows import awaited_table
from config.encryption import decrypt_json, encrypt_json
from config.errors import Invalid

HASH_LENGTH = 40
"""Hexadecimal digits of a stored hash: the length of the column. Ids have 32 characters."""


def hash_session_key(session_key: str) -> str:
    """Return the hash that the table stores instead of a session's id. Ids are random: a plain hash is safe."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:HASH_LENGTH]


class SessionStore(db.SessionStore):
    """Django's store, in which only the browser has the id. The project does not use its asynchronous methods."""

    def encode(self, session_dict: dict[str, Any]) -> str:
        return encrypt_json(session_dict).decode()

    def decode(self, session_data: bytes | str) -> dict[str, Any]:
        """Return the values of a session. Empty if no key fits, as in rows of an earlier release."""
        try:
            return decrypt_json(session_data.encode() if isinstance(session_data, str) else session_data)
        except InvalidToken:
            return {}

    def _get_session_from_db(self) -> Session | None:
        key = self.session_key
        current = Session.objects.filter(expire_date__gt=now())
        found = None if key is None else current.filter(session_key=hash_session_key(key)).first()
        if found is None:
            self._session_key = None  # an id that the server did not issue is never adopted
        return found

    @contextmanager
    def locked(self, busy: str) -> Iterator[None]:
        """Run a transaction that locks the session's row, so that requests of one browser run it one after another.

        The values are read again at the beginning, without unsaved changes, and changed values are saved at the
        end. Raises `SessionInterrupted`, which answers 400, if the session has ended. Raises `Invalid` with the
        reason `busy` if another request keeps the lock for longer than LOCK_TIMEOUT.
        """
        with transaction.atomic():
            rows = Session.objects.filter(session_key=hash_session_key(self.session_key or ""))
            try:
                row = rows.select_for_update(no_key=True).first()
            except OperationalError as error:
                if awaited_table(error) is None:
                    raise
                raise Invalid(busy) from error
            if row is None:
                raise SessionInterrupted("The session has ended.")
            self._session_cache = self.decode(row.session_data)
            self.modified = False
            yield
            if self.modified:
                self.save()
                self.modified = False

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


def session_of(request: HttpRequest) -> SessionStore:
    """Return the session of a page's request."""
    session = request.session
    if not isinstance(session, SessionStore):
        raise TypeError("the setting SESSION_ENGINE names another store")
    return session
