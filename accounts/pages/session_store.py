"""Sessions in the database, by a hash of their ids: a copy of the table signs nobody in."""

import hashlib
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.utils.timezone import now

LENGTH = 40
"""Of a stored hash, in hexadecimal digits: as many as the column takes. Ids have 32 characters."""


def hashed(session_key: str) -> str:
    """What the table has in place of a session's id. Ids are random, so that a plain hash cannot be reversed."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:LENGTH]


class SessionStore(db.SessionStore):
    """Django's store, in which only the browser has the id. Its methods for asynchronous code are not used here."""

    def _get_session_from_db(self) -> Session | None:
        key = self.session_key
        current = Session.objects.filter(expire_date__gt=now())
        found = None if key is None else current.filter(session_key=hashed(key)).first()
        if found is None:
            self._session_key = None  # an id that nobody gave out is never taken on
        return found

    def exists(self, session_key: str) -> bool:
        return super().exists(hashed(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        instance = super().create_model_instance(data)
        instance.session_key = hashed(instance.session_key)
        return instance

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            super().delete(hashed(key))
