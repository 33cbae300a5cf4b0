"""Imports run one way, from a floor to those below it, and never in a circle.

Read off the source: imports inside functions and for the type checker alone count too.
"""

import ast
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
APPS = ("accounts", "regions", "tags", "compute", "managed")
"""From left to right: an app imports those to its left, and config."""
OURS = (*APPS, "config", "tests")
FRAMEWORKS = ("rest_framework", "drf_spectacular", "celery", "kombu")

BELOW = {"actors", "entities", "event_names", "redirects", "scopes", "ssh_keys"}
"""What is below the models of an app, or beside them: names, parsers and registries that know no table."""
REFERENCES = {"refs", "listeners", "resources", "machine_names"}

# floor: the floors of apps, and then the packages and modules of config, that it may import besides itself
FLOORS: dict[str, tuple[set[str], set[str]]] = {
    **{name: (BELOW, set()) for name in BELOW},
    "models": (BELOW, {"encryption"}),
    "refs": ({"models", "services"}, set()),
    "listeners": ({"models"}, set()),
    "resources": (set(), set()),
    "machine_names": (set(), set()),
    "drivers": (set(), set()),
    "jobs": (BELOW | REFERENCES | {"models", "services", "drivers"}, {"db", "encryption", "errors", "notify"}),
    "services": (
        BELOW | REFERENCES | {"models", "jobs"},
        {"db", "egress", "encryption", "errors", "limits", "notify"},
    ),
    "prober": ({"models", "services"}, {"egress", "errors"}),
    "worker": (
        BELOW | REFERENCES | {"models", "jobs", "services", "drivers"},
        {"db", "encryption", "errors", "notify", "version"},
    ),
    "authentication": (BELOW | {"models"}, {"db"}),
    "openid": (set(), {"openid"}),
    "sms": (set(), set()),
    "api": (
        BELOW | REFERENCES | {"models", "services"},
        {"api", "db", "errors", "middleware"},
    ),
    "pages": (BELOW | {"models", "services", "openid"}, {"client_address", "errors", "openid", "pages"}),
    "oauth": (BELOW | {"models", "services", "pages"}, {"api", "client_address"}),
    "admin": (BELOW | REFERENCES | {"models", "services", "jobs"}, {"admin", "errors"}),
    "tasks": ({"services", "prober", "worker"}, {"notify"}),
    "management": (BELOW | {"models", "services"}, {"command_errors", "errors"}),
    "apps": (BELOW | REFERENCES | {"models", "services", "jobs", "worker"}, set()),
}

# of config: what each package or module of it may import besides itself; none but the first may import apps
CONFIG: dict[str, set[str]] = {
    "urls": {"api"},
    "errors": set(),
    "headers": set(),
    "client_address": set(),
    "db": {"errors"},
    "limits": {"headers"},
    "api": {"client_address", "db", "errors", "headers", "limits"},
    "admin": {"errors"},
    "templatetags": {"admin"},
    "encryption": set(),
    "egress": set(),
    "notify": set(),
    "pages": set(),
    "cors": set(),
    "openid": {"environment"},
    "logging": set(),
    "handler": set(),
    "formats": set(),
    "environment": set(),
    "version": set(),
    "bootstrap": set(),
    "command_errors": {"errors"},
    "middleware": {"api", "logging"},
    "laptop": {"db"},
    "settings": {"environment", "laptop", "logging", "openid"},
    "checks": {"laptop"},
    "starting": {"checks"},
    "celery": {"logging", "starting"},
    "wsgi": {"handler", "starting"},
    "apps": {"checks", "environment"},
    "management": {"celery", "command_errors", "db", "encryption", "laptop"},
}
OPENS_APPS = {"urls", "management", "laptop"}
"""Of config: what may import apps. Addresses lead to them, and `make serve` shows a demo account."""


@dataclass(frozen=True)
class Import:
    """`module` imports `target`, on a line of its file."""

    module: str
    target: str
    line: int

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def modules() -> Iterator[tuple[str, bool, ast.Module]]:
    """Name, whether it is a package, and source of every module but migrations and tests."""
    for top in (*APPS, "config"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if "migrations" not in parts:
                package = parts[-1] == "__init__"
                yield ".".join(parts[:-1] if package else parts), package, ast.parse(path.read_text(), str(path))


def imports_of(name: str, package: bool, tree: ast.Module) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                own = name.split(".")
                above = own[: len(own) - node.level + package]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                yield Import(name, f"{base}.{alias.name}", node.lineno)


MODULES = list(modules())
IMPORTS = [found for each in MODULES for found in imports_of(*each)]


def within(name: str, *packages: str) -> bool:
    """Whether a dotted name is one of the packages or in it."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def app_of(name: str) -> str:
    return name.partition(".")[0]


def floor_of(name: str) -> str:
    """``models``, ``services``, ``api`` … of a module of ours; "" of a top-level package itself, and of others."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[0] in OURS else ""


def refuse(*found: Import) -> None:
    assert not found, "\n".join(map(str, found))


def allowed(each: Import) -> bool:
    """Whether the table of floors has the edge."""
    own, target = floor_of(each.module), floor_of(each.target)
    if app_of(each.module) == "config":
        if app_of(each.target) in APPS:
            return own in OPENS_APPS
        return own == target or target in CONFIG[own]
    apps, config = FLOORS[own]
    if app_of(each.target) == "config":
        return target in config
    return target in apps or own == target


def test_there_is_something_to_walk():
    assert len(IMPORTS) > 500
    assert {app_of(each.module) for each in IMPORTS} >= {"accounts", "compute", "config"}


def test_every_floor_is_in_the_table():
    floors = {floor_of(name) for name, _, _ in MODULES if app_of(name) in APPS} - {""}
    assert floors == set(FLOORS)
    assert {floor_of(name) for name, _, _ in MODULES if app_of(name) == "config"} - {""} == set(CONFIG)


def test_no_floor_imports_one_that_is_not_below_it():
    ours = (each for each in IMPORTS if app_of(each.target) in (*APPS, "config") and floor_of(each.module))
    refuse(*(each for each in ours if not allowed(each)))


def test_no_app_imports_an_app_to_its_right():
    refuse(
        *(
            each
            for each in IMPORTS
            if app_of(each.module) in APPS
            and app_of(each.target) in APPS
            and APPS.index(app_of(each.target)) > APPS.index(app_of(each.module))
        )
    )


@pytest.mark.parametrize("floor", ["models", "jobs", "services"])
def test_who_writes_tables_knows_neither_the_api_framework_nor_the_task_queue(floor):
    refuse(*(each for each in IMPORTS if floor_of(each.module) == floor and within(each.target, *FRAMEWORKS)))


def test_drivers_know_neither_django_nor_anything_of_ours():
    refuse(
        *(
            each
            for each in IMPORTS
            if floor_of(each.module) == "drivers"
            and within(each.target, "django", "rest_framework", *OURS)
            and not within(each.target, "compute.drivers")
        )
    )


def test_the_errors_of_services_know_nothing():
    refuse(
        *(
            each
            for each in IMPORTS
            if each.module == "config.errors" and within(each.target, "django", "rest_framework", *OURS)
        )
    )


def test_nothing_imports_tests():
    refuse(*(each for each in IMPORTS if app_of(each.target) == "tests"))


# --- circles ------------------------------------------------------------------------------------------------------


def graph_of(names: Iterable[str], imports: Iterable[Import]) -> dict[str, dict[str, Import]]:
    """Which module imports which, with the first import that does."""
    graph: dict[str, dict[str, Import]] = {name: {} for name in names}
    for each in imports:
        target = each.target if each.target in graph else each.target.rpartition(".")[0]
        if target in graph and target != each.module:
            graph[each.module].setdefault(target, each)
    return graph


def circle_through(graph: Mapping[str, Mapping[str, Import]], start: str) -> list[Import]:
    """The shortest way from a module back to itself, or nothing."""
    came: dict[str, Import] = {}
    waiting = deque([start])
    while waiting:
        module = waiting.popleft()
        for target, each in graph[module].items():
            if target == start:
                way = [each]
                while way[0].module != start:
                    way.insert(0, came[way[0].module])
                return way
            if target not in came:
                came[target] = each
                waiting.append(target)
    return []


def test_no_modules_import_each_other_in_a_circle():
    graph = graph_of((name for name, _, _ in MODULES), IMPORTS)
    circles = [way for name in graph if (way := circle_through(graph, name))]
    refuse(*min(circles, key=len, default=[]))


def test_a_circle_is_found_and_its_edges_named():
    found = [Import("a", "b.name", 1), Import("b", "c", 2), Import("c", "a.other", 3), Import("c", "d", 4)]
    graph = graph_of(["a", "b", "c", "d"], found)
    assert [str(each) for each in circle_through(graph, "b")] == [
        "b:2 imports c",
        "c:3 imports a.other",
        "a:1 imports b.name",
    ]
    assert circle_through(graph, "d") == []


def test_relative_imports_are_followed():
    tree = ast.parse("from ..services import tokens")
    assert [each.target for each in imports_of("accounts.api.tokens", False, tree)] == ["accounts.services.tokens"]
    assert [each.target for each in imports_of("accounts.api", True, ast.parse("from . import tokens"))] == [
        "accounts.api.tokens"
    ]
