"""The search for operations by words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from django.utils.html import strip_tags

from config.reference.fields import Field
from config.reference.reading import Operation, reference

WORD = re.compile(r"[^\W_]+")
MAX_LETTERS = 200
"""The maximum number of characters of a search. The rest is ignored."""
HERE, NAMED, DESCRIBED, ANSWERED = 8, 4, 2, 1
"""The weights of a word in an operation's own line, in names of parameters and fields, in descriptions, in its
answers.
"""
WHOLE_WORD_FACTOR = 2
"""The factor for a word that stands alone."""


@dataclass(frozen=True, slots=True)
class Place:
    """A text of an operation that is searched. `label` names it, and is empty for the operation's own line."""

    label: str
    weight: int
    text: str
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Found:
    """An operation with all words of a search, and the matching places outside its own line."""

    operation: Operation
    places: tuple[str, ...]


def search(words: str) -> list[Found]:
    """Return the operations that contain each of the words, the best first. Empty for a search without words.

    The search covers method, path, summary, description, scopes, and names and descriptions of parameters and
    fields.
    """
    wanted = list(dict.fromkeys(words[:MAX_LETTERS].casefold().split()))
    scored = []
    for operation, places in _index() if wanted else ():
        best = [_best(word, places) for word in wanted]
        if all(score for score, _ in best):
            labels = dict.fromkeys(place.label for _, place in best if place is not None and place.label)
            scored.append((sum(score for score, _ in best), Found(operation, tuple(labels))))
    return [found for _, found in sorted(scored, key=lambda each: -each[0])]


def _best(word: str, places: tuple[Place, ...]) -> tuple[int, Place | None]:
    """Return the place with the highest weight for a word, and the weight. A plural also matches its singular."""
    spellings = (word, word.removesuffix("s")) if len(word) > 3 else (word,)
    score, best = 0, None
    for place in places:
        for spelling in spellings:
            if spelling in place.text:
                counts = place.weight * (WHOLE_WORD_FACTOR if spelling in place.words else 1)
                if counts > score:
                    score, best = counts, place
    return score, best


@cache
def _index() -> tuple[tuple[Operation, tuple[Place, ...]], ...]:
    operations = reference().operations.values()
    return tuple((operation, tuple(_places(operation))) for operation in operations)


def _places(operation: Operation) -> Iterator[Place]:
    yield _place("", HERE, f"{operation.method} {operation.path} {operation.summary} {operation.id}")
    yield _place("its description", DESCRIBED, operation.words)
    yield _place("its scope", DESCRIBED, " ".join(operation.scopes))
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
    yield _place(f"{kind} {field.name}", min(weight, DESCRIBED), strip_tags(field.description))


def _place(label: str, weight: int, text: str) -> Place:
    folded = text.casefold()
    return Place(label, weight, folded, frozenset(WORD.findall(folded)))
