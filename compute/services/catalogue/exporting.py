"""Exporting: the rows as a catalogue file that, applied, changes nothing."""

import json
from collections.abc import Collection, Iterator
from dataclasses import MISSING
from typing import Any

import yaml
from django.db.models import Model

from compute.services.catalogue.current_rows import rows_of
from compute.services.catalogue.schema import ITEMS, SECTIONS, UNSTATED, Item, attribute_paths
from compute.services.catalogue.values import written

LEFT_OUT = {"maintenance"}
"""Attributes that are left out: the temporary state, which a file that is applied later would restore."""
ALWAYS_WRITTEN = {"driver", "created"}
"""Attributes that a file may leave out, and that an export always writes."""


def export(sections: Collection[str] = SECTIONS) -> dict[str, list[dict[str, Any]]]:
    """Return the sections of a file, in their order. One query for each."""
    return {
        section: [_written(ITEMS[section], row) for row in rows_of(section)]
        for section in SECTIONS
        if section in sections
    }


def as_yaml(catalogue: dict[str, list[dict[str, Any]]]) -> str:
    return yaml.dump(catalogue, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def as_json(catalogue: dict[str, list[dict[str, Any]]]) -> str:
    return json.dumps(catalogue, indent=2, ensure_ascii=False) + "\n"


def _written(item: type[Item], row: Model) -> dict[str, Any]:
    """Return an item as a file has it, without values that are defaults."""
    found: dict[str, Any] = {}
    for path, value in _fields(item, row):
        group, dot, inner = path.partition(".")
        if dot:
            found.setdefault(group, {})[inner] = value
        else:
            found[path] = value
    return found


def _fields(item: type[Item], row: Model) -> Iterator[tuple[str, Any]]:
    for attribute, path in attribute_paths(item):
        if attribute.name in LEFT_OUT:
            continue
        value = getattr(row, attribute.name)
        default = attribute.default
        if default is MISSING and attribute.default_factory is not MISSING:
            default = attribute.default_factory()
        if value != default or default is UNSTATED or attribute.name in ALWAYS_WRITTEN:
            if path.startswith("resolvers."):
                value = [each.strip() for each in value.split(",")]
            yield path, written(value)


class _Dumper(yaml.SafeDumper):
    """A dumper that writes lists of single values on one line, as people write them."""

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        flat = bool(sequence) and all(not isinstance(each, dict | list) for each in sequence)
        return super().represent_sequence(tag, sequence, flow_style=flat)

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        flat = set(mapping) <= {"hourly", "monthly", "each", "ipv4", "ipv6"}
        return super().represent_mapping(tag, mapping, flow_style=flat and bool(mapping))


_Dumper.ignore_aliases = lambda self, data: True  # type: ignore[method-assign]
