"""Test modules have the folders of the tree. Shared helpers are in modules without tests."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
APPS = ("accounts", "compute", "config", "managed", "regions", "tags")
FILES = sorted(TESTS.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Return the modules that a test file imports, anywhere in it. For ``from x import y``, x and x.y."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_modules_of_tests_are_known_by_their_names():
    modules = {module_of(path) for path in FILES}
    assert {"tests.test_layout", "tests.racing", "tests.config.admin.pages"} <= modules


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_no_module_imports_a_module_of_tests(path):
    """A shared helper in a test module would run with that module's marks and fixtures, or without them."""
    modules = {module_of(each) for each in FILES if each.name.startswith("test_")}
    assert not imported(path) & modules, "what several modules need lies in one that has no tests"


@pytest.mark.parametrize("app", APPS)
def test_each_folder_of_an_apps_tests_is_one_of_the_app_or_a_module_there(app):
    for folder in sorted(path.parent for path in (TESTS / app).rglob("__init__.py")):
        there = ROOT / folder.relative_to(TESTS)
        assert there.is_dir() or there.with_suffix(".py").is_file(), f"{folder.relative_to(ROOT)} mirrors nothing"


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)
