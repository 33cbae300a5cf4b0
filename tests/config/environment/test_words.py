"""The word for an instance on the wire, as the environment has it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from config.environment import words
from config.environment.variables import BadVariable
from config.settings import BASE_DIR
from tests.baselines import stale
from tests.client import document


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("", ""), ("", "")),
        (("vessel", ""), ("vessel", "vessels")),
        (("ox", "oxen"), ("ox", "oxen")),
        ((" vessel ", " "), ("vessel", "vessels")),
        (("compute", ""), ("", "")),
        (("compute", "computes"), ("", "")),
    ],
)
def test_the_plural_is_derived_or_given(given, expected):
    assert words.checked(*given) == expected


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (("Vessel", ""), "API_WORD: 'Vessel' is not a word of 2 to 24 letters from a to z, in lower case"),
        (("v", ""), "API_WORD: 'v' is not a word of 2 to 24 letters from a to z, in lower case"),
        (("vessel-1", ""), "API_WORD: 'vessel-1' is not a word of 2 to 24 letters from a to z, in lower case"),
        (("ox", "0xen"), "API_WORD_PLURAL: '0xen' is not a word of 2 to 24 letters from a to z, in lower case"),
        (("supercompute", ""), "API_WORD: 'supercompute' contains 'compute', the word that it replaces"),
        (("volume", ""), "API_WORD: 'volume' has a meaning in the API already, choose another word"),
        (("ox", "domains"), "API_WORD_PLURAL: 'domains' has a meaning in the API already, choose another word"),
        (("", "oxen"), "API_WORD_PLURAL: is set without API_WORD, its singular"),
        (("sheep", "sheep"), "API_WORD_PLURAL: must differ from the singular, 'sheep': both are keys of bodies"),
    ],
)
def test_an_unusable_word_ends_the_process_with_a_line_that_names_the_variable(given, line):
    with pytest.raises(BadVariable) as refused:
        words.checked(*given)
    assert str(refused.value) == line


def test_the_words_of_the_api_are_reserved(write_baselines):
    found = {word for name in names() for word in re.findall("[a-z]+", name.lower()) if len(word) > 1}
    expected = sorted(word for word in found if words.NEUTRAL not in word)
    if write_baselines:
        words.RESERVED.write_text("\n".join(expected) + "\n")
    assert words.RESERVED.read_text().split() == expected, stale(words.RESERVED.name)


def names() -> Iterator[str]:
    """Yield the names and values of paths, parameters, bodies and scopes, and the ids of the catalogue."""
    written = document()
    for path, operations in written["paths"].items():
        yield re.sub(r"\{.*?\}", "", path)
        for operation in operations.values():
            yield from (parameter["name"] for parameter in operation.get("parameters", ()))
    yield from names_of(written["components"]["schemas"])
    yield from written["components"]["securitySchemes"]["oauth"]["flows"]["authorizationCode"]["scopes"]
    yield "any/all"  # all images, in a script
    catalogue = json.loads((BASE_DIR / "compute/data/catalogue.json").read_text())
    yield from (row["id"] for row in (*catalogue["images"], *catalogue["kernels"]))


def names_of(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        properties = schema.get("properties", {})
        yield from properties
        yield from map(str, schema.get("enum", ()))
        for child in schema.values():
            yield from names_of(child)
    elif isinstance(schema, list):
        for child in schema:
            yield from names_of(child)
