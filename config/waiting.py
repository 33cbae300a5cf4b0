"""Waiting for somebody else's server, in the middle of a request, without holding the process that answers it.

A web process answers one request at a time. A service that has to hear from a server of a stranger says what is to
be asked, by `outside`. In a web process that ends the request's first *pass*: the server asks in a thread, answers
others meanwhile, and then calls the handler again, from the start, with a new look at the database. In the second
pass `outside` returns at once what the stranger said, and whatever was counted in the first is not counted again.
Everywhere else (commands, workers, tests, WSGI) `outside` just calls the function.
"""

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

R = TypeVar("R")
MOST = 4
"""Servers that one request may wait for, one after the other."""


class Wait(BaseException):
    """Ends a pass, through whatever catches errors: `call` is to be called outside of it.

    Open transactions are rolled back, as by every exception.
    """

    def __init__(self, key: Hashable, call: Callable[[], Any]):
        super().__init__()
        self.key = key
        self.call = call


@dataclass(slots=True)
class Passes:
    """A request in one or more passes: what each of its steps that are done only once came to, by their keys."""

    done: list[tuple[Hashable, Any]] = field(default_factory=list)
    """Of all passes, in order: two steps with one key (two attempts of one user) are two."""
    again: list[tuple[Hashable, Any]] = field(default_factory=list)
    """Those of `done` that this pass has not come to yet."""
    waited: int = 0

    def repeat(self) -> None:
        """Begin another pass."""
        self.again = self.done.copy()


@dataclass(frozen=True, slots=True)
class _Failed:
    error: Exception


current: ContextVar[Passes | None] = ContextVar("passes", default=None)
"""The request that this thread answers, where the server can call its handler again."""


def outside(function: Callable[..., R], *values: Hashable) -> R:
    """What `function` returns for these values, or raises: the answer of somebody else's server.

    It runs in a thread of its own: it must bound its time, neither use the database nor change anything of ours.
    Call it outside of transactions, before anything is written, and with values that the next pass has as well.
    """
    passes = current.get()
    if passes is None:
        return function(*values)
    key = (function, values)
    said = recall(key)
    if said is None:
        if passes.waited >= MOST:
            raise RuntimeError(f"{function.__name__}: this request has waited {MOST} times already")
        raise Wait(key, lambda: function(*values))
    (outcome,) = said
    if isinstance(outcome, _Failed):
        raise outcome.error
    return outcome


def heard(passes: Passes, wait: Wait) -> None:
    """Call what a pass waits for, and note the outcome for the next one. Never raises an `Exception`."""
    try:
        outcome = wait.call()
    except Exception as error:  # noqa: BLE001 - raised again in the next pass
        outcome = _Failed(error)
    passes.waited += 1
    passes.done.append((wait.key, outcome))


def note(key: Hashable, outcome: Any) -> None:
    """Note a step that is done once for a request: a count, say."""
    if (passes := current.get()) is not None:
        passes.done.append((key, outcome))


def recall(key: Hashable) -> tuple[Any] | None:
    """The outcome of a step that an earlier pass did, or None where this pass has to do it."""
    passes = current.get()
    if passes is None or not passes.again:
        return None
    for position, (earlier, outcome) in enumerate(passes.again):
        if earlier == key:
            del passes.again[position]
            return (outcome,)
    return None
