"""The user-defined fields of a deployment script: read from its text, and checked against a client's values.

A script asks for values in tags, wherever they stand in it, mostly in comments::

    # <UDF name="motd" label="Message of the day" default="welcome" />
    # <UDF name="role" label="Role of the server" oneOf="web,db" example="web" />

Authors write these tags by hand, so they are read as leniently as browsers read attributes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from config import word
from config.errors import Problems, wrong_length

KEYS = {key.lower(): key for key in ("name", "label", "example", "default", "oneOf", "manyOf")}
"""The known attributes, by their lower-case spelling. Others are ignored."""
MAX_NAME_LENGTH = 64
MAX_FIELDS = 100
MAX_ATTRIBUTES = 100
"""The most attributes of one tag, so that the time to read a script stays proportional to its length."""
MAX_DATA_LENGTH = 65_535

_OPENING = re.compile(r"<\s*udf\b", re.IGNORECASE)
# a tag may continue over several lines of comments; authors also separate attributes by commas
_BETWEEN = re.compile(r"[\s,/#]*")
_ATTRIBUTE_NAME = re.compile(r"[^\s,/#<>=][^\s,/<>=]*")
# A quoted value of several lines contains no tag: otherwise a forgotten quote would swallow the following tags.
_VALUE = re.compile(r"""\s*=\s*(?:"([^"\n]*|[^"<>]*)"|'([^'\n]*|[^'<>]*)'|(?!["'])((?:(?!/>)[^\s<>])+)|(?=/?>))""")
_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.IGNORECASE | re.ASCII)

Field = dict[str, str]
"""A field as the API shows it: `name`, `label` and `example`, and `default`, `oneOf` and `manyOf` where given."""


def read_fields(script: str, problems: Problems, dropped: list[str] | None = None) -> list[Field]:
    """The fields that the script's tags define, in order. Broken tags are added to `problems` on ``script``.

    `dropped` receives a sentence for each default that is not one of the choices. The API accepts such a tag.
    """
    fields: list[Field] = []
    names: set[str] = set()
    number = end = 0
    for opening in _OPENING.finditer(script):
        if opening.start() < end:
            continue  # within a value of the tag before
        if number == MAX_FIELDS:
            problems.add("script", f"A script has at most {MAX_FIELDS} UDF tags.")
            break
        number += 1
        line = script.count("\n", 0, opening.start()) + 1
        tag = read_attributes(script, opening.end())
        field, end = (_field(tag[0]), tag[1]) if tag else (None, opening.end())
        reason = _wrong_with(field, names)
        if reason or field is None:
            problems.add("script", f"The UDF tag on line {line} {reason}.")
            continue
        if dropped is not None and tag and tag[0].get("default") and "default" not in field:
            dropped.append(
                f"The default of the UDF tag on line {line} is not one of its choices. It is ignored: a value must "
                "be chosen at each deployment."
            )
        names.add(field["name"].upper())
        fields.append({**field, "example": field.get("example", "")})
    return fields


def read_attributes(script: str, at: int) -> tuple[dict[str, str], int] | None:
    """Return the attributes of the tag whose inside begins at `at`, by lower-case name, and the tag's end.

    Attributes are read as browsers read them. No space is needed between a quoted value and the next attribute, and
    values need no quotes. An attribute without a value is empty. If an attribute is given twice, the last value
    counts; browsers use the first. Return None if the tag has no end, has more than `MAX_ATTRIBUTES`, or contains
    anything except attributes.
    """
    found: dict[str, str] = {}
    for _ in range(MAX_ATTRIBUTES + 1):
        blank = _BETWEEN.match(script, at)
        start = blank.end() if blank else at
        if script.startswith(">", start):
            return found, start + 1
        name = _ATTRIBUTE_NAME.match(script, start)
        if name is None:
            return None
        value = _VALUE.match(script, name.end())
        # a word without a value on a later line belongs to the script: the tag was not closed
        if value is None and "\n" in script[at:start]:
            return None
        text = next((group for group in value.groups() if group is not None), "") if value else ""
        found[name[0].lower()] = _one_line(text)
        at = (value or name).end()
    return None


def _one_line(text: str) -> str:
    """Join a value of several lines, which may be comments, to one line."""
    first, *others = text.split("\n")
    return " ".join([first.strip(), *(line.strip().lstrip("#").strip() for line in others)]) if others else text


def _field(attributes: Mapping[str, str]) -> Field:
    """Return the known attributes. Drop a default that is not one of the choices, so that the user must choose."""
    field = {KEYS[key]: value for key, value in attributes.items() if key in KEYS}
    if field.get("default") and _refused(field, field["default"]):
        del field["default"]
    return field


def _wrong_with(field: Field | None, names: set[str]) -> str:
    """Return the fault of a tag, given the names before it, as the end of a sentence; empty for a valid tag."""
    if field is None:
        return 'is not well formed: it needs attributes like name="value", and must end with />'
    for key in ("name", "label"):
        if not field.get(key, "").strip():
            return f"has no {key}"
    name = field["name"]
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_LENGTH:
        return f"has a name that is not 1-{MAX_NAME_LENGTH} letters, digits and underscores, the first no digit"
    if name.upper() in names:
        return "repeats the name of another, and case makes no difference"
    if "oneOf" in field and "manyOf" in field:
        return "has both oneOf and manyOf"
    for key in ("oneOf", "manyOf"):
        if key in field and not choices_of(field[key]):
            return f"has an empty {key}"
    return ""


def read_values(fields: Sequence[Field], data: Mapping[str, Any] | None, problems: Problems) -> dict[str, str]:
    """Return the value of each field: the one in `data`, else the field's default.

    Adds problems on ``stackscript_data.<name>``. Other keys of `data` are ignored.
    """
    data = data or {}
    values: dict[str, str] = {}
    for field in fields:
        name = field["name"]
        path = f"stackscript_data.{name}"
        given = data.get(name)
        if given is None or (given == "" and "default" not in field):
            if "default" not in field:
                problems.add(path, f"{word.quoted(path)} is required")
            values[name] = field.get("default", "")
            continue
        value = _text(given)
        if value is None or _refused(field, value):
            problems.add(path, f"{word.quoted(path)} is not valid")
        else:
            values[name] = value
    if sum(map(len, values.values())) > MAX_DATA_LENGTH:
        problems.add("stackscript_data", wrong_length(None, MAX_DATA_LENGTH))
    return values


def _text(given: Any) -> str | None:
    """Return a JSON value as the text that a script gets; None for lists, objects and null."""
    if isinstance(given, bool):
        return "true" if given else "false"
    return str(given) if isinstance(given, str | int | float) else None


def choices_of(listed: str) -> list[str]:
    """Return the values in a list of `oneOf`, of `manyOf`, or of a default, which are separated by commas."""
    return [choice.strip() for choice in listed.split(",") if choice.strip()]


def _refused(field: Field, value: str) -> bool:
    """Tell whether `value` is not one of the field's choices, or, with `manyOf`, lists one that is not."""
    if "oneOf" in field:
        return value not in choices_of(field["oneOf"])
    if "manyOf" in field:
        return not set(choices_of(value)) <= set(choices_of(field["manyOf"]))
    return False
