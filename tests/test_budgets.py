"""What takes long is marked, left out of a run that names nothing, and never lost."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import plugin_budgets as budgets

TESTS = Path(__file__).parent
ROOMS = {"browser": "browser", "clients": "clients", "system": "system", "tours": "tour"}


def config(**given) -> SimpleNamespace:
    none = {"slow": False, "everything": False, "keyword": "", "markexpr": "", "file_or_dir": []}
    return SimpleNamespace(option=SimpleNamespace(**none | given))


def item(*marks: str) -> SimpleNamespace:
    return SimpleNamespace(get_closest_marker=lambda name: name in marks)


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
def test_who_names_tests_gets_them(given, slow):
    assert budgets.wanted(config(**given)) is slow


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


def test_what_is_quick_needs_none():
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
    """What a shell starts there, no hook of this interpreter sees."""
    marked = re.compile(rf"^pytestmark = .*pytest\.mark\.{mark}\b", re.MULTILINE)
    modules = sorted((TESTS / room).glob("test_*.py"))
    assert modules
    assert [path.name for path in modules if not marked.search(path.read_text())] == []
