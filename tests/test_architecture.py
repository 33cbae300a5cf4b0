"""docs/architecture.md shows the real imports. With --write-baselines, this module draws them."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.baselines import stale
from tests.imports import APPS, BELOW, ENTRANCES, IMPORTS, REFERENCES, app_of, layer_of

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
GRAPH = re.compile(r"(<!-- graph: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def app(name: str) -> str:
    """Return the app of a module. Modules that import apps, such as URLs and commands, are apart from config."""
    if app_of(name) == "config":
        return "entrances" if layer_of(name) in ENTRANCES else "config"
    return app_of(name) if app_of(name) in APPS else ""


def layer(name: str) -> str:
    """Return the layer of a module of compute, which has all layers. Each other app is one part."""
    if app_of(name) != "compute":
        return app(name) if app(name) not in ("entrances", "managed") else ""
    if layer_of(name) in BELOW:
        return "names"
    return "references" if layer_of(name) in REFERENCES else layer_of(name)


def room(name: str) -> str:
    """Return the package of a module of compute/services."""
    parts = name.split(".")
    return parts[2] if parts[:2] == ["compute", "services"] and len(parts) > 2 else ""


DRAWN: dict[str, Callable[[str], str]] = {"apps": app, "layers": layer, "rooms": room}
"""The graphs of the page, each with the function that maps a module to its node."""


def edges(part_of: Callable[[str], str]) -> set[tuple[str, str]]:
    pairs = {(part_of(each.module), part_of(each.target)) for each in IMPORTS}
    return {(one, other) for one, other in pairs if one and other and one != other}


def without_shortcuts(found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the edges without shortcuts: of a -> b -> c and a -> c, without the last."""
    left = set(found)
    for one, other in sorted(left):
        graph: dict[str, set[str]] = {}
        for start, end in left - {(one, other)}:
            graph.setdefault(start, set()).add(end)
        waiting, seen = [one], set()
        while waiting:
            for target in graph.get(waiting.pop(), set()) - seen:
                seen.add(target)
                waiting.append(target)
        if other in seen:
            left.remove((one, other))
    return sorted(left)


def drawn(name: str) -> str:
    lines = [f"    {one} --> {other}" for one, other in without_shortcuts(edges(DRAWN[name]))]
    return "\n".join(["```mermaid", "graph TD", *lines, "```", ""])


def test_the_graphs_of_the_page_are_those_of_the_code(write_baselines):
    text = PAGE.read_text()
    assert {match[2] for match in GRAPH.finditer(text)} == set(DRAWN)
    fresh = GRAPH.sub(lambda match: match[1] + drawn(match[2]) + match[3], text)
    if write_baselines:
        PAGE.write_text(fresh)
    assert PAGE.read_text() == fresh, stale("docs/architecture.md")


def test_none_of_them_has_a_circle():
    for part_of in DRAWN.values():
        pairs = edges(part_of)
        after: dict[str, set[str]] = {}
        for one, other in pairs:
            after.setdefault(one, set()).add(other)
        while after:
            leaves = {each for each in after if not after[each] & set(after)}
            assert leaves, f"a circle among {sorted(after)}"
            after = {each: targets for each, targets in after.items() if each not in leaves}


def test_shortcuts_are_left_out():
    assert without_shortcuts([("a", "b"), ("b", "c"), ("a", "c")]) == [("a", "b"), ("b", "c")]
