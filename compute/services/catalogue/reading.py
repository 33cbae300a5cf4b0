"""Reading a catalogue file: YAML or JSON. The whole file is checked, and all problems are reported at once."""

import json
import re
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import MISSING
from typing import Any

import yaml

from compute.services.catalogue.schema import ITEMS, MAX_ITEMS, SECTIONS, Catalogue, Item, attribute_paths
from config.errors import Invalid, Problems

MAX_FILE_LENGTH = 10 * 1024**2
"""The largest length of a file, in characters."""
MISSING_FIELD = "This field is required."


class _Loader(yaml.SafeLoader):
    """YAML with only the types that JSON has: ``no`` is a country, and 2030-06-30 is text.

    A repeated key is an error, since the first value would be lost.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<")
        twice = [key for key, count in keys.items() if count > 1]
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"{twice[0]!r} appears twice", node.start_mark)
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("merge", r"<<", "<"),
    ("null", r"null|Null|NULL|~|", ["n", "N", "~", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})$"), list(_first))


def read(text: str) -> Catalogue:
    """Return the items of a file's text, which is JSON if it begins with ``{``. Raises `Invalid` with every
    problem.

    The field of a problem names section, item and field: ``types.small-1.price.hourly``. An item without a name is
    named by its index: ``types[0]``.
    """
    problems = Problems()
    parsed = _parsed(text)
    catalogue: Catalogue = {}
    if not isinstance(parsed, dict):
        raise Invalid(f"A catalogue has sections: {', '.join(SECTIONS)}.")
    for section in parsed:
        if section not in ITEMS:
            problems.add(str(section), f"The section does not exist. Use one of: {', '.join(SECTIONS)}.")
    for section in SECTIONS:
        if section in parsed:
            catalogue[section] = list(_items(section, parsed[section], problems))
    problems.raise_any()
    return catalogue


def _parsed(text: str) -> Any:
    if len(text) > MAX_FILE_LENGTH:
        raise Invalid(f"The file is too large: the maximum is {MAX_FILE_LENGTH} characters.")
    try:
        if text.lstrip().startswith("{"):
            return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
        return yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader with fewer types
    except yaml.MarkedYAMLError as error:
        where = f"Line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise Invalid(f"{where}{error.problem}.") from error
    except yaml.YAMLError as error:
        raise Invalid(f"This is not YAML: {' '.join(str(error).split())}.") from error
    except json.JSONDecodeError as error:
        raise Invalid(f"Line {error.lineno}: {error.msg}.") from error
    except RecursionError as error:
        raise Invalid("The file is nested too deeply.") from error
    except ValueError as error:
        raise Invalid(f"{error}.") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = Counter(key for key, _ in pairs)
    for key, count in keys.items():
        if count > 1:
            raise ValueError(f"{key!r} appears twice")
    return dict(pairs)


def _no_number(found: str) -> Any:
    raise ValueError(f"{found} is not a number")


def _items(section: str, given: Any, problems: Problems) -> Iterator[Item]:
    """Yield the valid items of a section, in the file's order; the others are noted in `problems`."""
    kind = ITEMS[section]
    if given is None:
        given = []  # a section with a name alone has nothing in it
    if not isinstance(given, list):
        problems.add(section, "Must be a list.")
        return
    if len(given) > MAX_ITEMS:
        problems.add(section, f"Must have {MAX_ITEMS} items at most.")
        return
    seen: set[str] = set()
    for position, each in enumerate(given):
        where = f"{section}[{position}]"
        if not isinstance(each, dict):
            problems.add(where, f"Must be an item with fields, as {kind.key}.")
            continue
        name = each.get(kind.key)
        if isinstance(name, str) and name:
            where = f"{section}.{name}"
            if name in seen:
                problems.add(f"{where}.{kind.key}", "Another item has the same value.")
            seen.add(name)
        found = _item(kind, where, each, problems)
        if found is not None:
            yield found


def _item(kind: type[Item], where: str, given: dict[Any, Any], problems: Problems) -> Item | None:
    flat, wrong = dict(_flat(given, _groups(kind))), Problems()
    values: dict[str, Any] = {}
    for attribute, path in attribute_paths(kind):
        if path in flat:
            try:
                values[attribute.name] = attribute.metadata["read"](flat.pop(path))
            except ValueError as error:
                wrong.add(f"{where}.{path}", str(error))
        elif attribute.default is MISSING and attribute.default_factory is MISSING:
            wrong.add(f"{where}.{path}", MISSING_FIELD)
    for path in flat:
        wrong.add(
            f"{where}.{path}",
            f"The field does not exist. Use one of: {', '.join(path for _, path in attribute_paths(kind))}.",
        )
    problems.extend(wrong)
    return None if wrong else kind(**values)


def _groups(kind: type[Item]) -> set[str]:
    """Return the fields that are groups of other fields, such as ``price``."""
    return {path.partition(".")[0] for _, path in attribute_paths(kind) if "." in path}


def _flat(given: dict[Any, Any], groups: set[str]) -> Iterator[tuple[str, Any]]:
    for key, value in given.items():
        if key in groups and isinstance(value, dict):
            yield from ((f"{key}.{inner}", each) for inner, each in value.items())
        elif not (key in groups and value is None):  # a group of nothing
            yield str(key), value
