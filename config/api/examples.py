"""Examples of requests and answers for the OpenAPI document.

Tests record them from real exchanges, on the catalogue that a fresh installation has.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from django.db import Error

FILE = Path(__file__).with_name("examples.json")
KEPT_SECONDS = 60
"""How long a process shows the same ids before it asks the database again."""

Source = Callable[[frozenset[str], frozenset[str]], Mapping[str, str]]
"""Takes the texts of all requests and of all answers. Returns the texts to show in place of some of them."""


@cache
def examples() -> dict[str, dict[str, Any]]:
    """By operation (``POST /v4/volumes``): a `request` and a `response`, each where there is JSON."""
    return json.loads(FILE.read_text())


class InstalledIds:
    """The ids that this installation has in place of ids in the examples.

    An app sets the source when it is ready. Threads share an object without a lock: two that find the ids too old
    both ask the database.
    """

    def __init__(self) -> None:
        self.source: Source | None = None
        self.forget()

    def forget(self) -> None:
        self._ids: Mapping[str, str] = {}
        self._until = 0.0

    def get(self) -> Mapping[str, str]:
        """The ids to show, by those that the examples name; empty on an installation with the seeded catalogue.

        While the database does not answer, the ids stay as they are.
        """
        if self.source is not None and time.monotonic() >= self._until:
            self._until = time.monotonic() + KEPT_SECONDS
            with suppress(Error):
                self._ids = self.source(texts("request"), texts("response"))
        return self._ids


installed_ids = InstalledIds()


@cache
def texts(side: str) -> frozenset[str]:
    """All texts in the examples of one side, `request` or `response`."""
    return frozenset(text for each in examples().values() for text in _texts(each.get(side)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _texts(child)
