"""The requirements of an action on its caller: the scope of the token, and the grant of the user.

A view declares both at each of its actions, with `config.api.operations.operation`. A view without these
declarations cannot be routed. Scopes are checked first (401 "Your OAuth token is not authorized…"), then grants
(403 "Unauthorized").
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from django.core.exceptions import ImproperlyConfigured

ALL = "*"


class Caller(Protocol):
    """The attributes of an actor that the kit needs. `accounts.actors.Actor` has them."""

    @property
    def account_id(self) -> int: ...

    @property
    def user_id(self) -> int | None: ...

    @property
    def username(self) -> str: ...

    @property
    def restricted(self) -> bool: ...

    @property
    def scopes(self) -> tuple[str, ...]: ...

    @property
    def account_access(self) -> str | None: ...

    def may(self, grant: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Scope:
    """The scopes that a token needs. All `names` are needed together.

    If `token` is off, callers without a token are served too. A token that is sent must still be valid. If
    `enforced` is off, the names are only documented: the view decides what a token without them can see. Then the
    header of accepted scopes is ``*``, unless `listed` is set. `also` is another name that the contract's document
    has for a scope.
    """

    names: tuple[str, ...] = ()
    token: bool = True
    enforced: bool = True
    listed: bool = False
    also: tuple[str, ...] = ()

    @classmethod
    def of(cls, declared: "Scope | str | tuple[str, ...]") -> "Scope":
        """Read a declaration: a scope name, several names that are needed together, or a `Scope`."""
        if isinstance(declared, Scope):
            return declared
        return cls((declared,) if isinstance(declared, str) else tuple(declared))

    @property
    def accepted(self) -> str:
        """The value of ``X-Accepted-OAuth-Scopes``."""
        return ",".join(self.names) if self.names and (self.enforced or self.listed) else ALL

    def allows(self, caller: Caller) -> bool:
        return not self.enforced or all(holds(caller, name) for name in self.names)


ANY_TOKEN = Scope()
PUBLIC = Scope(token=False)

ANYONE = "anyone"
"""The grant of actions that every user of an account may take, restricted or not."""
READ_ONLY = "read_only"
"""The grant of actions on entities that the caller can see. An entity without a grant does not exist: 404."""
READ_WRITE = "read_write"
"""The grant of actions that change an entity; seeing it without this level answers 403."""
ACCOUNT_READ = "account:read_only"
ACCOUNT_WRITE = "account:read_write"
UNRESTRICTED = "unrestricted"


def holds(caller: Caller, scope: str) -> bool:
    """Tell whether the caller's token has `scope`.

    ``read_write`` includes ``read_only``, and ``*`` includes all scopes.
    """
    scopes = caller.scopes
    if ALL in scopes or scope in scopes:
        return True
    return scope.endswith(":read_only") and scope.removesuffix("only") + "write" in scopes


def granted(caller: Caller, grant: str) -> bool:
    """Tell whether the user may take an action of this `grant`, as far as this is known without the entity."""
    if not caller.restricted or grant in (ANYONE, READ_ONLY, READ_WRITE):
        return True
    if grant == ACCOUNT_READ:
        return caller.account_access is not None
    if grant == ACCOUNT_WRITE:
        return caller.account_access == READ_WRITE
    return grant != UNRESTRICTED and caller.may(grant)


_grant_names = {ANYONE, READ_ONLY, READ_WRITE, ACCOUNT_READ, ACCOUNT_WRITE, UNRESTRICTED}


def register_grants(names: Iterable[str]) -> None:
    """Register the grants that `Caller.may` knows. The app that has them calls this when it starts."""
    _grant_names.update(names)


def check_grant_name(grant: str) -> str:
    """Return `grant`. Raise if `granted` does not know it."""
    if grant in _grant_names:
        return grant
    raise ImproperlyConfigured(f"unknown grant: {grant!r}")
