"""The operator at a command line, as an actor on accounts and in the log of staff's actions."""

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
"""The user in the log if the command names no staff user.

Nobody can have this name or sign in with it: it contains characters that usernames do not have.
"""
MAX_COMMAND_LENGTH = 200
"""The maximum number of characters of an object's name in the log."""
ADDED, CHANGED, DELETED = ADDITION, CHANGE, DELETION


@dataclass(frozen=True, slots=True)
class Operator:
    """The person who runs a command: a staff user, or else the user of the shell."""

    MAX_REASON_LENGTH: ClassVar[int] = 200

    user: User
    reason: str = ""

    @property
    def name(self) -> str:
        """The name that accounts read in their events: empty, as for the platform, unless a staff user is named."""
        return "" if self.user.username == NAME else self.user.username

    @overload
    def on(self, account_id: int) -> Actor: ...

    @overload
    def on(self, account_id: int | None) -> Actor | None: ...

    def on(self, account_id: int | None) -> Actor | None:
        """Return the operator as an actor on an account. None for objects on no account, which have no events."""
        if account_id is None:
            return None
        return Actor(account_id=account_id, username=self.name, is_staff=True)

    def log(self, obj: Model, message: str, flag: int = CHANGED) -> None:
        """Write an action on an object to the log of staff's actions, in the caller's transaction."""
        self.log_all([(obj, message, flag)])

    def log_all(self, done: Iterable[tuple[Model, str, int]]) -> None:
        """Log actions on many objects: one statement, and one for each table that is new."""
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
    """Return the operator that a command names, or the one at the shell. Call it in the transaction of the action.

    Raises `Invalid` on ``by`` if the name belongs to no active staff user.
    """
    if username is not None:
        user = User.objects.filter(username=username, is_staff=True, is_active=True).first()
        if user is None:
            raise Invalid(f"There is no active staff user {username!r}.", "by")
        return Operator(user, reason)
    user, _ = User.objects.get_or_create(username=NAME, defaults={"is_active": False, "password": "!"})
    return Operator(user, reason)


def shell_user() -> str:
    """Return the name of the system's user, with the machine's name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        name = "somebody"
    return f"{name} on {socket.gethostname()}"
