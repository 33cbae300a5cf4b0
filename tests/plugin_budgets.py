"""A pytest plugin: a test that takes long has a mark, and runs when asked for. Loaded by ``-p`` in
pyproject.toml.

A run that names nothing (no ``-k``, no ``-m``, no path) leaves marked tests out, and reports their number at
its end. ``--slow`` runs the marked tests alone, ``--everything`` runs all, ``--also guest`` adds the tests of
one mark. A run that names tests runs them, whatever their marks. Marks of `APART` are left out of ``--slow``
and ``--everything`` too. ``--services`` leaves out quick tests whose result does not depend on the services. These
use neither a database nor a broker, or are marked `alike`, or are about pages. .ci/run has run them already.

A run with slow tests begins with those that use no database of the tests, and ends with quick tests. Otherwise,
one process would still run a test of some minutes when the others have nothing left to do.

A test without the required mark fails when it starts the program: an audit hook refuses the start.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

MARKS = {
    "browser": "has a browser open pages",
    "clients": "has linters and generators of clients read the OpenAPI document, and uses such clients",
    "crash": "has workers and hosts killed at each step of real machines' jobs",
    "generated": "plays through many actions or inputs drawn at random",
    "guest": "has a program that the platform writes for (HAProxy, Knot, nftables, QEMU) do its work",
    "system": "runs the platform as processes: web, workers, clock, what a laptop has in place of services",
    "tour": "types the commands of the documents into a shell, while a server runs",
    "upgrade": "applies every migration by itself, one after the other",
}
"""In alphabetical order."""

TESTS = Path(__file__).parent
PAGES = {"admin", "pages"}
"""Folders of an app's tests, with tests of HTML pages. Browser tests open each of these pages, on the services."""

APART = {"crash": "make test-crash"}
"""Marks of tests that take longer than all others together, with the command that runs them."""

STARTS = {
    "celery": {"browser", "clients", "system", "tour"},
    "granian": {"browser", "clients", "system", "tour"},
    "serve": {"browser", "clients", "system", "tour"},
    "openapi-python-client": {"clients"},
    "redocly": {"clients"},
    "spectral": {"clients"},
    "openapi-ts": {"clients"},
    "openapi-typescript": {"clients"},
    "chromium": {"browser"},
    "chromedriver": {"browser"},
    "nginx": {"system"},
    "haproxy": {"guest"},
    "caddy": {"guest"},
    "systemd-analyze": {"guest"},
    "knotd": {"guest"},
    "nft": {"guest"},
    "qemu-system-x86_64": {"guest"},
    "sshd": {"guest"},
    "compute.drivers.qemu.agent.machines.supervisor": {"guest"},
}
"""Programs, and the marks of which a test needs one to start them."""

LEFT_OUT = pytest.StashKey[Counter[str]]()
_running: list[pytest.Item] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests alone that are marked as taking long")
    parser.addoption("--everything", action="store_true", help="run the tests that take long as well")
    parser.addoption(
        "--services", action="store_true", help="leave out quick tests whose result is the same on all services"
    )
    parser.addoption(
        "--also", action="append", default=[], choices=[*MARKS], help="run those with this mark as well"
    )


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}; takes long")
    config.addinivalue_line("markers", "alike: has the same result on all services; --services leaves it out")
    config.stash[LEFT_OUT] = Counter()
    sys.addaudithook(_refuse)


def wanted(config: pytest.Config) -> bool | None:
    """Tell whether slow tests are those to run. None if the run names tests, or runs all."""
    option = config.option
    if option.slow:
        return True
    named = option.everything or option.keyword or option.markexpr or option.file_or_dir
    return None if named else False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    slow, everything = wanted(config), config.option.everything
    if slow is None and not everything:
        return
    kept, left = [], []
    for item in items:
        unasked = set(marks_of(item)).difference(config.option.also)
        marks = set(marks_of(item)) if slow else unasked
        chosen = everything if slow is None else bool(marks) == slow
        if config.option.services and not marks_of(item) and not uses_services(item):
            chosen = False
        (kept if chosen and not unasked.intersection(APART) else left).append(item)
    items[:] = sorted(kept, key=turn_of)
    config.hook.pytest_deselected(items=left)
    config.stash[LEFT_OUT] = Counter(mark for item in left for mark in marks_of(item)[:1])


def turn_of(item: pytest.Item) -> int:
    """Return the place of a test among all: slow tests without the tests' database first, and quick ones last.

    As pytest-django orders them, tests that roll back run before tests that commit. Of these, tests with processes
    run before those with a browser, which take less time each.
    """
    slow = marks_of(item)
    if commits(item):
        return 2 if "system" in slow else 3 if slow else 4
    if uses_database(item):
        return 1
    return 0 if slow else 5


def uses_services(item: pytest.Item) -> bool:
    """Tell whether a test uses the database by a mark or a fixture, or its file names a service.

    Tests marked `alike` check permissions or bodies of requests. Other tests send the same statements. The same is
    true of tests of pages, unless they commit: those are about locks and lost connections.
    """
    if item.get_closest_marker("alike"):
        return False
    if is_of_pages(item.path) and not commits(item):
        return False
    return uses_database(item) or names_service(item.path)


def uses_database(item: pytest.Item) -> bool:
    return (
        item.get_closest_marker("django_db") is not None
        or "db" in getattr(item, "fixturenames", ())
        or commits(item)
    )


def commits(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("django_db")
    asked = bool(mark and mark.kwargs.get("transaction"))
    return asked or "transactional_db" in getattr(item, "fixturenames", ())


def is_of_pages(path: Path) -> bool:
    return path.is_relative_to(TESTS) and not PAGES.isdisjoint(path.relative_to(TESTS).parts[1:2])


@cache
def names_service(path: Path) -> bool:
    text = path.read_text().lower()
    return any(name in text for name in ("redis", "valkey", "postgres", "psycopg", "connection", "broker", "rates"))


def marks_of(item: pytest.Item) -> list[str]:
    return [name for name in MARKS if item.get_closest_marker(name)]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the counts to pytest-xdist's first process, which has collected nothing."""
    if output := getattr(session.config, "workeroutput", None):
        output["left_out"] = dict(session.config.stash[LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    node.config.stash[LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left = config.stash[LEFT_OUT]
    if kinds := ", ".join(f"{name} {left[name]}" for name in MARKS if left[name] and name not in APART):
        terminalreporter.write_line(f"Not run, for they take long: {kinds}. `make test-slow` runs them.")
    for name, command in APART.items():
        if left[name]:
            terminalreporter.write_line(
                f"Not run, for they take longest: {name} {left[name]}. `{command}` runs them."
            )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _running.append(item)
    try:
        return (yield)
    finally:
        _running.pop()


def _refuse(event: str, arguments: tuple) -> None:
    if event == "subprocess.Popen" and _running and (unmarked := lacking(_running[-1], arguments[1])):
        raise RuntimeError(unmarked)


def lacking(item: pytest.Item, command: str | bytes | Sequence[object]) -> str | None:
    """Return the problem of `item` starting `command`. None if the item has the required mark."""
    words = [command] if isinstance(command, str | bytes) else list(command)
    for word in (Path(str(word)).name for word in words):
        if word in STARTS and not STARTS[word].intersection(marks_of(item)):
            return f"a test that starts {word} is marked as one of: {', '.join(sorted(STARTS[word]))}"
    return None
