"""Examples of requests and answers for the OpenAPI document.

Tests record the examples from real exchanges, on the catalogue that `manage.py seed` creates.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django.db import Error

from config import word

log = logging.getLogger(__name__)

FILE = Path(__file__).with_name("examples.json")
KEPT_SECONDS = 60
"""Seconds for which a process shows the same ids before it asks the database again."""

Source = Callable[[frozenset[str], frozenset[str]], Mapping[str, str]]
"""A function that gets the texts of all requests and of all answers, and maps some of them to the texts to show."""


@cache
def examples() -> dict[str, dict[str, Any]]:
    """Return for each operation (``POST /v4/volumes``) a `request` and a `response`, if they are JSON."""
    return json.loads(FILE.read_text())


class InstalledIds:
    """The ids of this installation that replace ids in the examples.

    An app sets the source when it is ready. Threads share the object without a lock: two threads that find the ids
    too old both ask the database.
    """

    def __init__(self) -> None:
        self.source: Source | None = None
        self.forget()

    def forget(self) -> None:
        self._ids: Mapping[str, str] = {}
        self._until = 0.0

    def get(self) -> Mapping[str, str]:
        """Map ids of the examples to the ids to show. The map is empty if the catalogue has all these ids.

        While the database does not answer, the ids stay as they are, and the log says so.
        """
        if self.source is not None and time.monotonic() >= self._until:
            self._until = time.monotonic() + KEPT_SECONDS
            try:
                found = self.source(texts("request"), texts("response"))
                self._ids = {word.on_wire(given): word.on_wire(own) for given, own in found.items()}
            except Error as error:
                log.warning("the ids of this installation cannot be read for the examples: %s", error)
        return self._ids


installed_ids = InstalledIds()


@cache
def texts(side: str) -> frozenset[str]:
    """Return all texts in the examples of one side, `request` or `response`."""
    return frozenset(text for each in examples().values() for text in _texts(each.get(side)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _texts(child)
