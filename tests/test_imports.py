"""Imports go one way, from a layer to the layers below, and never in a circle."""

import ast
from collections import deque
from collections.abc import Mapping

import pytest

from compute.drivers.qemu.bundle import SHARED_MODULES
from tests.imports import (
    APPS,
    CONFIG,
    ENTRANCES,
    IMPORTS,
    LAYERS,
    MODULES,
    OURS,
    PLAIN_VALUES,
    ROOMS,
    Import,
    app_of,
    graph_of,
    imports_of,
    layer_of,
    within,
)

FRAMEWORKS = ("rest_framework", "drf_spectacular", "celery", "kombu")


def refuse(*found: Import) -> None:
    assert not found, "\n".join(map(str, found))


def allowed(each: Import) -> bool:
    """Tell whether the table of layers has the edge."""
    own, target = layer_of(each.module), layer_of(each.target)
    if app_of(each.module) == "config":
        if app_of(each.target) in APPS:
            return own in ENTRANCES
        return own == target or target in CONFIG[own]
    apps, config = LAYERS[own]
    if app_of(each.target) == "config":
        return target in config
    return target in apps or own == target


def test_there_is_something_to_walk():
    assert len(IMPORTS) > 500
    assert {app_of(each.module) for each in IMPORTS} >= {"accounts", "compute", "config"}


def test_every_floor_is_in_the_table():
    layers = {layer_of(name) for name, _, _ in MODULES if app_of(name) in APPS} - {""}
    assert layers == set(LAYERS)
    assert {layer_of(name) for name, _, _ in MODULES if app_of(name) == "config"} - {"", *ROOMS} == set(CONFIG)


def test_no_floor_imports_one_that_is_not_below_it():
    ours = (each for each in IMPORTS if app_of(each.target) in (*APPS, "config") and layer_of(each.module))
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


@pytest.mark.parametrize("layer", ["models", "jobs", "services"])
def test_models_and_services_import_neither_the_api_framework_nor_celery(layer):
    refuse(*(each for each in IMPORTS if layer_of(each.module) == layer and within(each.target, *FRAMEWORKS)))


@pytest.mark.parametrize("layer", ["jobs", "services"])
def test_layers_that_use_driver_values_import_no_driver(layer):
    refuse(
        *(
            each
            for each in IMPORTS
            if layer_of(each.module) == layer
            and within(each.target, "compute.drivers")
            and not within(each.target, PLAIN_VALUES)
        )
    )


def test_drivers_know_neither_django_nor_anything_of_ours():
    refuse(
        *(
            each
            for each in IMPORTS
            if layer_of(each.module) == "drivers"
            and within(each.target, "django", "rest_framework", *OURS)
            and not within(each.target, "compute.drivers")
        )
    )


def test_the_agent_imports_only_itself_and_shared_modules():
    packed = {name.removesuffix(".py").replace("/", ".") for name in SHARED_MODULES}
    agent = "compute.drivers.qemu.agent"
    found = [each for each in IMPORTS if within(each.module, agent, *packed) and within(each.target, *OURS)]
    assert len(found) > 50
    assert [str(each) for each in found if not within(each.target, agent, *packed)] == []


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


def circle_through(graph: Mapping[str, Mapping[str, Import]], start: str) -> list[Import]:
    """Return the shortest path from a module back to itself, or nothing."""
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


@pytest.mark.parametrize(
    "source",
    [
        'importlib.import_module("compute.worker.engine")',
        'def late():\n    return import_module("compute.worker.engine").run',
        'import_module(name="compute.worker.engine")',
        'import_string("compute.worker.engine")',
        '__import__("compute.worker.engine")',
    ],
)
def test_calls_of_importers_with_a_literal_name_are_imports(source):
    found = list(imports_of("compute.services.disks", False, ast.parse(source)))
    assert [each.target for each in found] == ["compute.worker.engine"]
    assert not allowed(found[0])


def test_calls_of_importers_with_a_name_from_a_setting_are_not_imports():
    tree = ast.parse("import_module(settings.SESSION_ENGINE); import_string(path); import_module()")
    assert list(imports_of("compute.services.disks", False, tree)) == []


def test_relative_imports_are_followed():
    tree = ast.parse("from ..services import tokens")
    assert [each.target for each in imports_of("accounts.api.tokens", False, tree)] == ["accounts.services.tokens"]
    assert [each.target for each in imports_of("accounts.api", True, ast.parse("from . import tokens"))] == [
        "accounts.api.tokens"
    ]
