"""A pytest plugin: a few tests start at once. Loaded by ``-p`` in pyproject.toml.

Reading all files of tests takes longer than most tests. With ``-k``, the plugin leaves out files that have none
of the words in their path or text. Such a file has no matching test, unless the test has computed parameters.
If no file has the words, or with ``--all-files``, all files are read.

If only a few files match, the run has one process. Another process would import everything and create a
database first.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
FEW = 4
"""The largest number of files that one process runs alone."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-files", action="store_true", help="with -k, read files that hold none of its words too")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file that has no test for ``-k``. None leaves the decision to other hooks."""
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
    """Start no other process for a few files. None lets xdist count processors."""
    return 0 if 0 < len(selected(config)) <= FEW else None


def selected(config: pytest.Config) -> list[Path]:
    """Return the files that the command line selects. Empty if it names folders, or nothing."""
    named = [Path(argument.partition("::")[0]) for argument in config.option.file_or_dir]
    files = named if named and all(path.suffix == ".py" for path in named) else []
    words = words_of(config)
    if words:
        files = [path for path in files or test_files() if could_match(path, words)]
    return files


def words_of(config: pytest.Config) -> str:
    """Return the expression of ``-k`` if a whole file can be decided by it, else "".

    A file with a word may still have tests without it, so an expression with ``not`` cannot be decided. If no
    file has the words, the test's name is computed, if it exists.
    """
    expression = config.option.keyword
    if not expression or config.option.all_files or re.search(r"\bnot\b", expression):
        return ""
    return expression if any(could_match(path, expression) for path in test_files()) else ""


def could_match(path: Path, words: str) -> bool:
    """Tell whether the file at `path` has the words of an expression: all for ``and``, one for ``or``."""
    text = text_of(path)
    try:
        return Expression.compile(words).evaluate(lambda word, /, **_: word.lower() in text)
    except SyntaxError:
        return True  # pytest has a message for that


@cache
def text_of(path: Path) -> str:
    """Return path and content of a file in lower case, as ``-k`` compares."""
    path = path.resolve()
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return f"{name}\n{path.read_text(errors='replace')}".lower()


@cache
def test_files() -> list[Path]:
    return [path for path in sorted(TESTS.rglob("*.py")) if is_test_file(path)]


def is_test_file(path: Path) -> bool:
    return path.name.startswith("test_") and path.suffix == ".py"
