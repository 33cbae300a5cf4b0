"""Finding operations by words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from django.utils.html import strip_tags

from config.reference.fields import Field
from config.reference.reading import Operation, reference

WORD = re.compile(r"[^\W_]+")
MOST_LETTERS = 200
"""Letters of a search that are read; what comes behind them is left out."""
HERE, NAMED, TOLD, ANSWERED = 8, 4, 2, 1
"""How much a word counts in an operation's own line, in names of what it takes, in descriptions, in its answers."""
WHOLE = 2
"""How many times as much a word counts that stands there by itself."""


@dataclass(frozen=True, slots=True)
class Place:
    """A text of an operation in which words are looked for. `label` names it; that of its own line is empty."""

    label: str
    weight: int
    text: str
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Found:
    """An operation with all words of a search, and the places that are not to be seen in its own line."""

    operation: Operation
    places: tuple[str, ...]


def search(words: str) -> list[Found]:
    """The operations in which each of the words stands somewhere, the best first; none where there is no word.

    Looked at are method, path, summary, description, scopes, and names and descriptions of parameters and fields.
    """
    wanted = list(dict.fromkeys(words[:MOST_LETTERS].casefold().split()))
    scored = []
    for operation, places in _index() if wanted else ():
        best = [_best(word, places) for word in wanted]
        if all(score for score, _ in best):
            labels = dict.fromkeys(place.label for _, place in best if place is not None and place.label)
            scored.append((sum(score for score, _ in best), Found(operation, tuple(labels))))
    return [found for _, found in sorted(scored, key=lambda each: -each[0])]


def _best(word: str, places: tuple[Place, ...]) -> tuple[int, Place | None]:
    """The place where a word counts most, and how much. A plural is found in what has the singular."""
    spellings = (word, word.removesuffix("s")) if len(word) > 3 else (word,)
    score, best = 0, None
    for place in places:
        for spelling in spellings:
            if spelling in place.text:
                counts = place.weight * (WHOLE if spelling in place.words else 1)
                if counts > score:
                    score, best = counts, place
    return score, best


@cache
def _index() -> tuple[tuple[Operation, tuple[Place, ...]], ...]:
    operations = reference().operations.values()
    return tuple((operation, tuple(_places(operation))) for operation in operations)


def _places(operation: Operation) -> Iterator[Place]:
    yield _place("", HERE, f"{operation.method} {operation.path} {operation.summary} {operation.id}")
    yield _place("its description", TOLD, operation.words)
    yield _place("its scope", TOLD, " ".join(operation.scopes))
    for parameter in operation.parameters:
        yield from _of_field("parameter", NAMED, parameter.field)
    for body in operation.bodies:
        for field in body.field.walk():
            yield from _of_field("field", NAMED, field)
    for answer in operation.answers:
        for field in answer.field.walk() if answer.field and not answer.like else ():
            yield from _of_field("field of the answer", ANSWERED, field)


def _of_field(kind: str, weight: int, field: Field) -> Iterator[Place]:
    values = " ".join(choice.value for choice in field.choices)
    yield _place(f"{kind} {field.name}", weight, f"{field.name} {values}")
    yield _place(f"{kind} {field.name}", min(weight, TOLD), strip_tags(field.description))


def _place(label: str, weight: int, text: str) -> Place:
    folded = text.casefold()
    return Place(label, weight, folded, frozenset(WORD.findall(folded)))
