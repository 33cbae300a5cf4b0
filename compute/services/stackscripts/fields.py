"""The user-defined fields of a deployment script: read from its text, and checked against a client's values.

A script asks for values in tags, wherever they stand in it, mostly in comments::

    # <UDF name="motd" label="Message of the day" default="welcome" />
    # <UDF name="role" label="What it is to be" oneOf="web,db" example="web" />
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from config.errors import Problems, wrong_length

KEYS = {key.lower(): key for key in ("name", "label", "example", "default", "oneOf", "manyOf")}
"""The known attributes, by their spelling in lower case. Others are ignored."""
LONGEST_NAME = 64
MOST_FIELDS = 100
LONGEST_DATA = 65_535

_OPENING = re.compile(r"<\s*udf\b", re.IGNORECASE)
# a tag may go on over several lines of comments
_BETWEEN = re.compile(r"(?:\n[ \t]*#+|\s)*")
_ATTRIBUTE = re.compile(r"""([a-z][\w-]*)[ \t]*=[ \t]*(?:"([^"\n]*)"|'([^'\n]*)')""", re.IGNORECASE | re.ASCII)
_CLOSING = re.compile(r"/?>")
_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.IGNORECASE | re.ASCII)

Field = dict[str, str]
"""A field as the API shows it: `name`, `label` and `example`, and `default`, `oneOf` and `manyOf` where given."""


def read_fields(script: str, problems: Problems) -> list[Field]:
    """The fields that the script's tags define, in order. Broken tags are added to `problems` on ``script``."""
    fields: list[Field] = []
    names: set[str] = set()
    for number, opening in enumerate(_OPENING.finditer(script)):
        if number == MOST_FIELDS:
            problems.add("script", f"A script has at most {MOST_FIELDS} UDF tags.")
            break
        line = script.count("\n", 0, opening.start()) + 1
        field = _read_tag(script, opening.end())
        reason = _wrong_with(field, names)
        if reason or field is None:
            problems.add("script", f"The UDF tag on line {line} {reason}.")
            continue
        names.add(field["name"].upper())
        fields.append({**field, "example": field.get("example", "")})
    return fields


def _read_tag(script: str, at: int) -> Field | None:
    """The attributes of the tag whose inside begins at `at`; None where the tag is not well formed."""
    field: Field = {}
    while True:
        blank = _BETWEEN.match(script, at)
        start = blank.end() if blank else at
        if _CLOSING.match(script, start):
            return field
        attribute = _ATTRIBUTE.match(script, start)
        # attributes stand apart from one another and from the name of the tag
        if attribute is None or start == at:
            return None
        key = KEYS.get(attribute[1].lower())
        if key in field:
            return None
        if key:
            field[key] = attribute[2] if attribute[2] is not None else attribute[3]
        at = attribute.end()


def _wrong_with(field: Field | None, names: set[str]) -> str:
    """The fault of a tag, given the names before it, as the end of a sentence; empty for a valid tag."""
    if field is None:
        return 'is not well formed: it needs attributes like name="value", each once, and a closing />'
    for key in ("name", "label"):
        if not field.get(key, "").strip():
            return f"has no {key}"
    name = field["name"]
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        return f"has a name that is not 1-{LONGEST_NAME} letters, digits and underscores, the first no digit"
    if name.upper() in names:
        return "repeats the name of another, and case makes no difference"
    if "oneOf" in field and "manyOf" in field:
        return "has both oneOf and manyOf"
    for key in ("oneOf", "manyOf"):
        if key in field and not _choices(field[key]):
            return f"has an empty {key}"
        if key in field and field.get("default") and _refused(field, field["default"]):
            return f"has a default that is not among its {key}"
    return ""


def read_values(fields: Sequence[Field], data: Mapping[str, Any] | None, problems: Problems) -> dict[str, str]:
    """The value of each field: the one in `data`, else the field's default.

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
                problems.add(path, f"{path} is required")
            values[name] = field.get("default", "")
            continue
        value = _text(given)
        if value is None or _refused(field, value):
            problems.add(path, f"{path} is not valid")
        else:
            values[name] = value
    if sum(map(len, values.values())) > LONGEST_DATA:
        problems.add("stackscript_data", wrong_length(None, LONGEST_DATA))
    return values


def _text(given: Any) -> str | None:
    """A JSON value as the text that a script gets; None for lists, objects and null."""
    if isinstance(given, bool):
        return "true" if given else "false"
    return str(given) if isinstance(given, str | int | float) else None


def _choices(listed: str) -> list[str]:
    return [choice.strip() for choice in listed.split(",") if choice.strip()]


def _refused(field: Field, value: str) -> bool:
    """Whether `value` is not one of the field's choices, or, with `manyOf`, lists something that is none."""
    if "oneOf" in field:
        return value not in _choices(field["oneOf"])
    if "manyOf" in field:
        return not set(_choices(value)) <= set(_choices(field["manyOf"]))
    return False
