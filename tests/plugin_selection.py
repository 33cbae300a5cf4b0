"""A pytest plugin: a few tests start at once. Loaded by ``-p`` in pyproject.toml.

To read all files of tests takes longer than most tests. With ``-k`` those are left out that hold none of its words,
neither in their path nor in their text: no test there could match, but for one whose parameters are computed.
``--all-files`` reads them all the same, and so does a word that no file holds. And what is found in a few files
is run in one process: another one would have to import everything, and to make a database, before it could take a
test.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
FEW = 4
"""Files; with more of them several processes are worth their start."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-files", action="store_true", help="with -k, read files that hold none of its words too")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file that can hold no test that ``-k`` asks for. None lets others decide."""
    words = words_of(config)
    return True if words and is_test_file(collection_path) and not could_match(collection_path, words) else None


def pytest_report_header(config: pytest.Config) -> str | None:
    words = words_of(config)
    if not words:
        return None
    files = test_files()
    read = sum(could_match(path, words) for path in files)
    return f"-k: {read} of {len(files)} files hold its words; --all-files reads the others too"


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """No other process for a few files. None lets xdist count processors."""
    return 0 if 0 < len(selected(config)) <= FEW else None


def selected(config: pytest.Config) -> list[Path]:
    """The files that the command line leaves to be read; empty if it names folders, or nothing."""
    named = [Path(argument.partition("::")[0]) for argument in config.option.file_or_dir]
    files = named if named and all(path.suffix == ".py" for path in named) else []
    words = words_of(config)
    if words:
        files = [path for path in files or test_files() if could_match(path, words)]
    return files


def words_of(config: pytest.Config) -> str:
    """The expression of ``-k`` where it can be decided for a whole file, else "".

    That a file holds a word says nothing about which of its tests do not, so an expression with ``not`` cannot. Nor
    can one whose words no file holds: what it asks for has a name that is computed, if it exists.
    """
    expression = config.option.keyword
    if config.option.all_files or re.search(r"\bnot\b", expression):
        return ""
    return expression if any(could_match(path, expression) for path in test_files()) else ""


def could_match(path: Path, words: str) -> bool:
    """Whether the file at `path` holds the words of an expression: all where it says ``and``, one for ``or``."""
    text = text_of(path)
    try:
        return Expression.compile(words).evaluate(lambda word, /, **_: word.lower() in text)
    except SyntaxError:
        return True  # pytest has a message for that


@cache
def text_of(path: Path) -> str:
    """Path and content of a file in small letters, as ``-k`` compares."""
    path = path.resolve()
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return f"{name}\n{path.read_text(errors='replace')}".lower()


@cache
def test_files() -> list[Path]:
    return [path for path in sorted(TESTS.rglob("*.py")) if is_test_file(path)]


def is_test_file(path: Path) -> bool:
    return path.name.startswith("test_") and path.suffix == ".py"
