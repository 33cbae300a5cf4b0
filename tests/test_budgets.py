"""Slow tests are marked, left out of a run that names nothing, and never lost."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import plugin_budgets as budgets

TESTS = Path(__file__).parent
ROOMS = {"browser": "browser", "clients": "clients", "system": "system", "tours": "tour"}


def config(**given) -> SimpleNamespace:
    none = {"slow": False, "everything": False, "services": False}
    none |= {"keyword": "", "markexpr": "", "file_or_dir": [], "also": []}
    return SimpleNamespace(option=SimpleNamespace(**none | given))


def item(*marks: str) -> SimpleNamespace:
    return SimpleNamespace(get_closest_marker=lambda name: name if name in marks else None)


@pytest.mark.parametrize(
    ("given", "slow"),
    [
        ({}, False),
        ({"slow": True}, True),
        ({"slow": True, "file_or_dir": ["tests/system"]}, True),
        ({"everything": True}, None),
        ({"keyword": "haproxy"}, None),
        ({"markexpr": "browser"}, None),
        ({"file_or_dir": ["tests/system"]}, None),
    ],
)
def test_named_tests_run_even_if_slow(given, slow):
    assert budgets.wanted(config(**given)) is slow


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, ["quick"]),
        ({"also": ["guest"]}, ["quick", "guest"]),
        ({"also": ["guest", "crash"]}, ["quick", "guest", "guest and crash"]),
        ({"everything": True, "also": ["crash"]}, ["quick", "guest", "guest and browser", "guest and crash"]),
        ({"markexpr": "crash"}, ["quick", "guest", "guest and browser", "guest and crash"]),
        ({"slow": True}, ["guest", "guest and browser"]),
        ({"slow": True, "also": ["guest"]}, ["guest", "guest and browser"]),
        ({"everything": True}, ["quick", "guest", "guest and browser"]),
    ],
)
def test_tests_of_a_mark_run_as_well(given, kept):
    items = [item(), item("guest"), item("guest", "browser"), item("guest", "crash")]
    names = dict(zip(map(id, items), ("quick", "guest", "guest and browser", "guest and crash"), strict=True))
    asked = config(**given)
    asked.stash, asked.hook = {}, SimpleNamespace(pytest_deselected=lambda items: None)
    budgets.pytest_collection_modifyitems(asked, items)
    assert sorted(names[id(each)] for each in items) == sorted(kept)


def test_a_run_on_services_leaves_out_tests_without_services(tmp_path):
    plain, named = tmp_path / "plain.py", tmp_path / "named.py"
    plain.write_text("assert 1 + 1 == 2")
    named.write_text('URL = "redis://127.0.0.1"')
    page = TESTS / "compute/pages/disks/test_any.py"
    items = [item(), item(), item(), item("guest"), item("alike"), item(), item()]
    names = (
        "names no service", "names a broker", "asks for a database", "guest", "a body", "page", "page, commits"
    )  # fmt: skip
    paths = (plain, named, plain, plain, named, page, page)
    all_fixtures = ([], [], ["db"], [], ["db"], ["db"], ["transactional_db"])
    for each, path, fixtures in zip(items, paths, all_fixtures, strict=True):
        each.path, each.fixturenames = path, fixtures
    name_of = dict(zip(map(id, items), names, strict=True))
    asked = config(everything=True, services=True)
    asked.stash, asked.hook = {}, SimpleNamespace(pytest_deselected=lambda items: None)
    budgets.pytest_collection_modifyitems(asked, items)
    assert [name_of[id(each)] for each in items] == [
        "guest", "asks for a database", "page, commits", "names a broker",
    ]  # fmt: skip


def test_slow_tests_come_before_quick_ones():
    commits = SimpleNamespace(kwargs={"transaction": True})
    marked = SimpleNamespace(get_closest_marker={"system": "system", "django_db": commits}.get, fixturenames=[])
    items = [item(), item(), item(), item("browser"), marked, item("system")]
    names = ("quick", "quick, rolls back", "quick, commits", "browser, commits", "system, commits", "system alone")
    for each, fixtures in zip(items, ([], ["db"], ["transactional_db"], ["transactional_db"]), strict=False):
        each.fixturenames = fixtures
    name_of = dict(zip(map(id, items), names, strict=True))
    asked = config(everything=True)
    asked.stash, asked.hook = {}, SimpleNamespace(pytest_deselected=lambda items: None)
    budgets.pytest_collection_modifyitems(asked, items)
    assert [name_of[id(each)] for each in items] == [
        "system alone", "quick, rolls back", "system, commits", "browser, commits", "quick, commits", "quick",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "mark"),
    [
        (["python", "-m", "celery", "-A", "config", "worker"], "system"),
        (["/usr/sbin/haproxy", "-f", "x"], "guest"),
        (["manage.py", "serve"], "tour"),
        (["unshare", "-n", "nft", "-f", "-"], "guest"),
        (["/usr/bin/chromedriver"], "browser"),
    ],
)
def test_a_program_needs_a_mark(command, mark):
    assert budgets.lacking(item(mark), command) is None
    assert "is marked as one of" in budgets.lacking(item(), command)


def test_quick_commands_need_no_mark():
    assert budgets.lacking(item(), ["bash", "-n"]) is None
    assert budgets.lacking(item(), "echo serve") is None


def test_a_test_without_its_mark_starts_nothing():
    import subprocess

    with pytest.raises(
        RuntimeError, match="a test that starts granian is marked as one of: browser, clients, system, tour"
    ):
        subprocess.run(["granian", "--version"])


@pytest.mark.parametrize(("room", "mark"), ROOMS.items())
def test_all_tests_of_some_folders_are_marked(room, mark):
    """No hook of this interpreter sees the programs that a shell starts there, so the marks are checked."""
    marked = re.compile(rf"^pytestmark = .*pytest\.mark\.{mark}\b", re.MULTILINE)
    modules = sorted((TESTS / room).glob("test_*.py"))
    assert modules
    assert [path.name for path in modules if not marked.search(path.read_text())] == []
