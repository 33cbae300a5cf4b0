"""Imports run one way: ``config.urls → */api → */services → compute/jobs → compute/drivers``, and never back.

Read off the source, imports within functions included.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
APPS = ("accounts", "regions", "tags", "compute", "managed")
"""From left to right."""
OURS = (*APPS, "config", "tests")


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


IMPORTS = [found for each in modules() for found in imports_of(*each)]


def within(name: str, *packages: str) -> bool:
    """Whether a dotted name is one of the packages or in it."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def app_of(name: str) -> str:
    return name.partition(".")[0]


def layer_of(name: str) -> str:
    """``models``, ``services``, ``api`` … of a module of an app; "" of anything else."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[0] in APPS else ""


def refuse(*found: Import) -> None:
    assert not found, "\n".join(map(str, found))


def test_there_is_something_to_walk():
    assert len(IMPORTS) > 500
    assert {app_of(each.module) for each in IMPORTS} >= {"accounts", "compute", "config"}


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


@pytest.mark.parametrize(
    ("layer", "banned"),
    [
        ("models", {"services", "api", "jobs", "drivers", "admin"}),
        ("services", {"api", "drivers", "admin"}),
        ("jobs", {"api", "admin"}),
        ("drivers", {"models", "services", "api", "jobs", "admin"}),
        ("api", {"admin", "drivers"}),
    ],
)
def test_no_layer_imports_one_above_it(layer, banned):
    refuse(*(each for each in IMPORTS if layer_of(each.module) == layer and layer_of(each.target) in banned))


def test_services_know_neither_the_api_framework_nor_the_task_queue():
    refuse(
        *(
            each
            for each in IMPORTS
            if layer_of(each.module) == "services"
            and within(each.target, "rest_framework", "drf_spectacular", "celery")
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


def test_the_api_kit_knows_no_app():
    refuse(*(each for each in IMPORTS if within(each.module, "config.api") and app_of(each.target) in APPS))


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


def test_relative_imports_are_followed():
    tree = ast.parse("from ..services import tokens")
    assert [each.target for each in imports_of("accounts.api.tokens", False, tree)] == ["accounts.services.tokens"]
    assert [each.target for each in imports_of("accounts.api", True, ast.parse("from . import tokens"))] == [
        "accounts.api.tokens"
    ]
