"""The operator at a command line: as an actor on accounts, and in the log of staff's actions."""

import getpass
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, overload

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model

from accounts.actors import Actor
from accounts.models import User
from config.errors import Invalid

NAME = "(command line)"
"""The user that the log names where the command does not say who types it. Nobody can have this name or sign in by
it: it has characters that names do not have."""
MAX_COMMAND_LENGTH = 200
"""The most characters of an object's name in the log."""
ADDED, CHANGED, DELETED = ADDITION, CHANGE, DELETION


@dataclass(frozen=True, slots=True)
class Operator:
    """Who runs a command: a staff user, or else whoever has a shell."""

    LONGEST_REASON: ClassVar[int] = 200

    user: User
    reason: str = ""

    @property
    def name(self) -> str:
        """The name that accounts read in their events: empty, the platform's, unless a staff user is named."""
        return "" if self.user.username == NAME else self.user.username

    @overload
    def on(self, account_id: int) -> Actor: ...

    @overload
    def on(self, account_id: int | None) -> Actor | None: ...

    def on(self, account_id: int | None) -> Actor | None:
        """The operator as an actor on an account; None for what is on no account, and has no events."""
        if account_id is None:
            return None
        return Actor(account_id=account_id, username=self.name, is_staff=True)

    def log(self, obj: Model, message: str, flag: int = CHANGED) -> None:
        """Write to the log of staff's actions what was done to an object, in the caller's transaction."""
        self.log_all([(obj, message, flag)])

    def log_all(self, done: Iterable[tuple[Model, str, int]]) -> None:
        """As `log`, for many objects: one statement, and one for each table that is new."""
        kinds = ContentType.objects
        LogEntry.objects.bulk_create(
            LogEntry(
                user=self.user, content_type=kinds.get_for_model(obj), object_id=str(obj.pk),
                object_repr=str(obj)[:MAX_COMMAND_LENGTH], action_flag=flag, change_message=self._signed(message),
            )
            for obj, message, flag in done
        )  # fmt: skip

    def _signed(self, message: str) -> str:
        parts = [message, self.reason, f"manage.py, by {shell_user()}"]
        return " - ".join(filter(None, parts))


def operator(username: str | None = None, reason: str = "") -> Operator:
    """The operator that a command names, or the one at the shell. Call it in the transaction of what is done.

    Raises `Invalid` on ``by`` where the name is no active staff user's.
    """
    if username is not None:
        user = User.objects.filter(username=username, is_staff=True, is_active=True).first()
        if user is None:
            raise Invalid(f"There is no active staff user {username!r}.", "by")
        return Operator(user, reason)
    user, _ = User.objects.get_or_create(username=NAME, defaults={"is_active": False, "password": "!"})
    return Operator(user, reason)


def shell_user() -> str:
    """The name of the system's user, with the machine's."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        name = "somebody"
    return f"{name} on {socket.gethostname()}"
