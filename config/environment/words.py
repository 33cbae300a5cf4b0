"""Checks the word for an instance on the wire: API_WORD and API_WORD_PLURAL (`config.word`)."""

import re
from pathlib import Path

from config.environment.variables import BadVariable

NEUTRAL = "compute"
"""The word in code and in the database, and on the wire if no other is set."""
WORD = re.compile("[a-z]{2,24}", re.ASCII)
RESERVED = Path(__file__).with_name("reserved_words.txt")
"""The words of the API's names and values. A test compares the file with the document and the catalogue."""


def checked(singular: str, plural: str) -> tuple[str, str]:
    """Return the singular and the plural of the variables, both empty if no word is set.

    The plural is the singular with an ``s``, unless it is given. Raises `BadVariable` for a word that clients could
    not tell from the rest of the API.
    """
    singular, plural = singular.strip(), plural.strip()
    if plural and not singular:
        raise BadVariable("API_WORD_PLURAL", "is set without API_WORD, its singular")
    if not singular:
        return "", ""
    plural = plural or f"{singular}s"
    if (singular, plural) == (NEUTRAL, f"{NEUTRAL}s"):
        return "", ""
    reserved = frozenset(RESERVED.read_text().split())
    for name, word in (("API_WORD", singular), ("API_WORD_PLURAL", plural)):
        if problem := _problem(word, reserved):
            raise BadVariable(name, problem)
    if plural == singular:
        raise BadVariable(
            "API_WORD_PLURAL", f"must differ from the singular, {singular!r}: both are keys of bodies"
        )
    return singular, plural


def _problem(word: str, reserved: frozenset[str]) -> str | None:
    if not WORD.fullmatch(word):
        return f"{word!r} is not a word of 2 to 24 letters from a to z, in lower case"
    if NEUTRAL in word:
        return f"{word!r} contains {NEUTRAL!r}, the word that it replaces"
    if word in reserved:
        return f"{word!r} has a meaning in the API already, choose another word"
    return None
