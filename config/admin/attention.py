"""What needs attention, on the admin's index. Apps register who looks for it, once, at import."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class Notice:
    """One line of the panel: `text` leads to `address`, a list of what it is about."""

    text: str
    address: str
    tone: str = "bad"


Watcher = Callable[[HttpRequest], Iterable[Notice]]

_watchers: list[Watcher] = []


def watcher(look: Watcher) -> Watcher:
    """Register a function that returns the notices for the user of a request; a handful of cheap queries."""
    _watchers.append(look)
    return look


def notices(request: HttpRequest) -> list[Notice]:
    return [notice for look in _watchers for notice in look(request)]
