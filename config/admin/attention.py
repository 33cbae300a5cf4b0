"""The panel of notices on the admin's index. Apps register the functions that find notices once, at import."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class Notice:
    """One line of the panel. `text` links to `address`, the list of the objects concerned.

    Notices are sorted by `urgent`, highest first. Among equally urgent notices, errors (`tone="bad"`) come first.
    The rest keep the order in which the apps registered.
    """

    text: str
    address: str
    tone: str = "bad"
    urgent: int = 0


Watcher = Callable[[HttpRequest], Iterable[Notice]]

_watchers: list[Watcher] = []


def watcher(watch: Watcher) -> Watcher:
    """Register a function that returns the notices for the user of a request.

    The function makes a few cheap queries.
    """
    _watchers.append(watch)
    return watch


def notices(request: HttpRequest) -> list[Notice]:
    found = [notice for watch in _watchers for notice in watch(request)]
    return sorted(found, key=lambda notice: (-notice.urgent, notice.tone != "bad"))
