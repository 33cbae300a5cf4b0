"""Deployment scripts that include other scripts by tags, which are replaced when the script is deployed::

    source <ssinclude StackScriptID="7">

If the tag is alone on its line, it is replaced by the text of the included script, in any language. Otherwise it is
replaced by the path of a file with this text, for commands such as ``source``.
"""

import re
from dataclasses import dataclass

from django.db.models import QuerySet

from compute.models import StackScript
from compute.services.stackscripts.fields import read_attributes

MAX_TAGS = 100
MAX_DEPTH = 5
"""Levels of included scripts below the script that is deployed."""
MAX_SCRIPTS = 20
"""Different scripts that a script includes, directly or through other scripts."""
MAX_LENGTH = 262_144
"""Characters of a script together with all included scripts."""
NOT_YOURS = "which you may not use"
NOT_PUBLIC = "is not public"

_OPENING = re.compile(r"<\s*ssinclude\b", re.IGNORECASE)
_ID = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Included:
    """The text of a script without tags, and the texts of the files that it needs, by path."""

    text: str
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Tag:
    start: int
    end: int
    script_id: int


def include(usable: QuerySet[StackScript], script_id: int | None, text: str, lacking: str = NOT_YOURS) -> Included:
    """Replace the tags in the `text` of a script by the `usable` scripts that they name.

    There is one query for each level of included scripts, and none for a script without tags. `script_id` is None
    for a script that is not saved yet. Raises `ValueError` with the reason if a tag cannot be replaced. For a
    script that is not usable, the reason ends with `lacking`.
    """
    tags = _tags(text)
    if not tags:
        return Included(text, {})
    return _Expansion(_load(usable, tags), lacking).replace_tags(script_id, text)


def _tags(text: str, holder: int | None = None) -> list[_Tag]:
    """Return the tags in the text of the script `holder`. None is the script that is deployed."""
    found: list[_Tag] = []
    for opening in _OPENING.finditer(text):
        if found and opening.start() < found[-1].end:
            continue  # inside a value of the previous tag
        if len(found) == MAX_TAGS:
            raise ValueError(f"A script has at most {MAX_TAGS} ssinclude tags.")
        tag = read_attributes(text, opening.end())
        number = tag[0].get("stackscriptid", "").strip() if tag else ""
        if tag is None or not _ID.fullmatch(number):
            place = _place(text, opening.start(), holder)
            raise ValueError(f'{place} is not well formed: it needs an id, as StackScriptID="123".')
        found.append(_Tag(opening.start(), tag[1], int(number)))
    return found


def _place(text: str, at: int, holder: int | None) -> str:
    """Return the words that name a tag in a reason, by its line."""
    line = text.count("\n", 0, at) + 1
    return f"The ssinclude tag on line {line}" + (f" of script {holder}" if holder else "")


def _load(usable: QuerySet[StackScript], tags: list[_Tag]) -> dict[int, str]:
    """Load the texts of all usable scripts that the tags include, directly or through other scripts."""
    texts: dict[int, str] = {}
    seen: set[int] = set()
    wanted = {tag.script_id for tag in tags}
    while wanted:
        seen |= wanted
        if len(seen) > MAX_SCRIPTS:
            raise ValueError(
                f"A script can include at most {MAX_SCRIPTS} scripts, directly or through other scripts."
            )
        found = dict(usable.filter(pk__in=wanted).values_list("pk", "script"))
        texts |= found
        wanted = {tag.script_id for pk, text in found.items() for tag in _tags(text, pk)} - seen
    return texts


class _Expansion:
    """Replaces tags by the `texts` of scripts. Each script is expanded once."""

    def __init__(self, texts: dict[int, str], lacking: str):
        self._texts = texts
        self._lacking = lacking
        self._expanded: dict[int, tuple[str, int]] = {}
        self._files: dict[str, str] = {}

    def replace_tags(self, script_id: int | None, text: str) -> Included:
        whole, _ = self._expand(text, None, () if script_id is None else (script_id,))
        _check_length(len(whole) + sum(map(len, self._files.values())))
        return Included(whole, self._files)

    def _expand(self, text: str, holder: int | None, above: tuple[int, ...]) -> tuple[str, int]:
        """Return the text without tags, and the levels of scripts in it. `above` are the including scripts."""
        parts, length, levels, at = [], 0, 0, 0
        for tag in _tags(text, holder):
            included, below = self._included(tag, _place(text, tag.start, holder), above)
            levels = max(levels, below + 1)
            if not _is_alone(text, tag):
                path = f"/root/ssinclude-{tag.script_id}"
                self._files[path], included = included, path
            parts += [text[at : tag.start], included]
            length += tag.start - at + len(included)
            _check_length(length)
            at = tag.end
        if levels > MAX_DEPTH:
            raise ValueError(f"Scripts can include other scripts at most {MAX_DEPTH} levels deep.")
        return "".join([*parts, text[at:]]), levels

    def _included(self, tag: _Tag, place: str, above: tuple[int, ...]) -> tuple[str, int]:
        pk = tag.script_id
        if pk in above:
            raise ValueError(f"{place} includes script {pk} in itself.")
        if pk not in self._texts:
            raise ValueError(f"{place} names script {pk}, which does not exist or {self._lacking}.")
        if pk not in self._expanded:
            self._expanded[pk] = self._expand(self._texts[pk], pk, (*above, pk))
        return self._expanded[pk]


def _is_alone(text: str, tag: _Tag) -> bool:
    """Return whether the tag is alone on its line."""
    before, after = text[: tag.start].rpartition("\n")[2], text[tag.end :].partition("\n")[0]
    return not before.strip() and not after.strip()


def _check_length(length: int) -> None:
    if length > MAX_LENGTH:
        raise ValueError(
            f"A script can have at most {MAX_LENGTH} characters, including the scripts that it includes."
        )
