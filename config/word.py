"""The word for an instance on the wire: ``compute``, or the word of the setting API_WORD.

Code and rows have the neutral form, ``compute``. Names of paths, fields, filters, scopes and values get the word
when they are declared or compiled. If no word is set, all functions here return their argument.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from django.conf import settings

from config.environment.words import NEUTRAL

QUOTE = "\ue000"
"""The mark before and after a text of a customer within a text of the platform. Unicode gives it no meaning."""


class Spoken(str):
    """A reason for clients, without marks. It may have a text that a client sent, so it is not translated again.

    `marked` is the reason with its marks, for pages, which translate it into words of their own.
    """

    marked: str

    def __new__(cls, marked: str) -> "Spoken":
        made = super().__new__(cls, marked.replace(QUOTE, ""))
        made.marked = marked
        return made


class Word:
    """Translations between the neutral form and a word. Both forms stand alone or within a name.

    ``computes:read_only``, ``compute_id``, ``add_computes`` and ``ComputeSettings`` contain the word; ``computed``
    does not.
    """

    def __init__(self, singular: str, plural: str):
        self.is_set = bool(singular)
        self.forms = {NEUTRAL: singular, f"{NEUTRAL}s": plural}
        self._to_wire = _translation(self.forms)
        self._to_neutral = _translation({word: form for form, word in self.forms.items()})
        both = {**self.forms, **{word: form for form, word in self.forms.items()}}
        self._swap = _translation(both, articles=False)

    def on_wire(self, text: str) -> str:
        """Return a name or a text of the platform as clients read it. A text of a customer has to be `quoted`."""
        if not self.is_set:
            return text
        return self.with_marks(text).replace(QUOTE, "")

    def with_marks(self, text: str) -> str:
        """Return a text of the platform as clients read it, with the marks of texts that clients sent."""
        if not self.is_set:
            return text
        parts = text.split(QUOTE)
        parts[::2] = map(self._to_wire, parts[::2])
        return QUOTE.join(parts)

    def to_neutral(self, text: str) -> str:
        """Return the neutral form of a name that the platform wrote with the word."""
        return self._to_neutral(text) if self.is_set else text

    def read(self, value: str) -> str:
        """Return the neutral form of a value that a client sent.

        The neutral form itself is unknown to clients of another word. It becomes a value that does not exist.
        """
        return self._swap(value) if self.is_set else value

    def with_names(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return an object of the platform with the word in its keys. Its values stay."""
        return {self.on_wire(name): value for name, value in data.items()} if self.is_set else data

    def renamed(self, value: Any) -> Any:
        """Return JSON of the platform with the word in all keys and texts."""
        return rename_all(value, self.on_wire) if self.is_set else value


def _translation(forms: Mapping[str, str], articles: bool = True) -> Any:
    """Return a function that replaces words in a text, capitalized words too. It corrects articles before them."""
    both = {**forms, **{word.capitalize(): to.capitalize() for word, to in forms.items()}}
    longest = sorted((re.escape(word[0].lower() + word[1:]) for word in forms if word), key=len, reverse=True)
    either = "|".join(f"[{word[0]}{word[0].upper()}]{word[1:]}" for word in longest)
    # A capital letter begins a word, as in names of schemas.
    article = r"(?:\b([Aa])n? )?" if articles else "()"
    pattern = re.compile(rf"{article}(?:(?<![A-Za-z])|(?=[A-Z]))({either})(?![a-z])") if either else None

    def translate(found: re.Match[str]) -> str:
        article, word = found.groups()
        to = both[word]
        if not article:
            return to
        return f"{article}{'n' if to[0] in 'aeioAEIO' else ''} {to}"

    return lambda text: pattern.sub(translate, text) if pattern else text


def rename_all(value: Any, rename: Callable[[str], str]) -> Any:
    """Return JSON with all keys and texts renamed by a function."""
    if isinstance(value, str):
        return rename(value)
    if isinstance(value, Mapping):
        return {
            rename(key) if isinstance(key, str) else key: rename_all(each, rename) for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [rename_all(each, rename) for each in value]
    return value


BELOW = ("/v4/compute/", "/v4/images/", "/v4/managed/")
"""Beginnings of the paths that can have the word. No name that a customer chose stands below them."""


def quoted(text: str) -> str:
    """Return a text that a client sent, for a reason of a `Problem`. Neither `spell` nor pages change the text."""
    return QUOTE + text.replace(QUOTE, "") + QUOTE


def spell(reason: str) -> str:
    """Return a reason of an error as clients read it. A reason that is translated already is returned unchanged."""
    return reason if isinstance(reason, Spoken) else Spoken(WORD.with_marks(reason))


def unquoted(reason: str) -> str:
    """Return a reason in the neutral form, without marks: for commands and workers, as in rows and files."""
    return Spoken(reason) if QUOTE in reason else reason


def slug_on_wire(key: str) -> str:
    """Return the id of an entity as clients read it. Only slugs of the catalogue have the word."""
    return on_wire(key) if key.startswith(f"{NEUTRAL}/") else key


def path_on_wire(path: str) -> str:
    """Return the path of an object as clients read it: ``/v4/compute/instances/7``."""
    return on_wire(path) if path.startswith(BELOW) else path


WORD = Word(settings.API_WORD, settings.API_WORD_PLURAL)
IS_SET = WORD.is_set
on_wire = WORD.on_wire
to_neutral = WORD.to_neutral
read = WORD.read

_sentences: dict[str, None] = {}
"""The declared sentences, in order and each once."""


def sentence(text: str) -> str:
    """Declare a sentence that rows have in the neutral form, such as the message of an event. Return it unchanged.

    The sentence may have places for values, as for `str.format`: ``The window of the compute is {when}.``
    """
    _sentences[text] = None
    return text


@cache
def _compiled(text: str) -> tuple[re.Pattern[str], list[str]]:
    """Return the pattern of a sentence, and its texts between the values.

    Most processes translate no message, so this is not done when they start.
    """
    literals = re.split(r"\{\w+\}", text)
    pattern = "(.*)".join(map(re.escape, literals))
    return re.compile(f"{pattern}( .*)?", re.DOTALL), literals


def message_on_wire(message: str) -> str:
    """Return a message of a row as clients read it. Only a `sentence` at its beginning has the word."""
    return translated(message, on_wire) if IS_SET else message


def translated(message: str, translate: Callable[[str], str]) -> str:
    """Return a message of a row with a `sentence` at its beginning translated by a function.

    The values in the sentence, and the text behind it, may be a customer's. They stay as they are.
    """
    if NEUTRAL not in message.lower():
        return message
    for pattern, literals in map(_compiled, _sentences):
        if found := pattern.fullmatch(message):
            *values, rest = found.groups("")
            # a job that fails adds a sentence to the message of its event
            following = rest and f" {translated(rest[1:], translate)}"
            return "".join(map("".join, zip(map(translate, literals), [*values, following], strict=True)))
    return message
