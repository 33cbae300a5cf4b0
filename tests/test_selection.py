"""``-k`` reads only the files that may have a match, and a few files need one process."""

from types import SimpleNamespace

import pytest

from tests import plugin_selection as selection

OWN = selection.TESTS / "test_selection.py"
OTHER = selection.TESTS / "test_policy.py"
WORD = "a_word" + "_of_this_file_alone"
"""A word that this file holds in a comment: a_word_of_this_file_alone."""


def config(keyword: str = "", *paths: str, all_files: bool = False) -> SimpleNamespace:
    return SimpleNamespace(option=SimpleNamespace(keyword=keyword, all_files=all_files, file_or_dir=list(paths)))


def test_a_file_without_the_word_is_not_read():
    assert selection.selected(config(WORD)) == [OWN]
    assert selection.pytest_ignore_collect(OTHER, config(WORD)) is True
    assert selection.pytest_ignore_collect(OWN, config(WORD)) is None
    assert selection.pytest_ignore_collect(selection.TESTS / "conftest.py", config(WORD)) is None


@pytest.mark.parametrize(
    "keyword", [WORD.upper(), f"{WORD} and selection", f"{WORD} or surely{WORD}", f"({WORD})", f"{WORD} and test_"]
)
def test_words_are_compared_as_k_does(keyword):
    assert selection.selected(config(keyword)) == [OWN]


@pytest.mark.parametrize(
    "keyword",
    [
        "", "not policy", "(not policy)", "not(policy)", f"{WORD} and (not word)", "selection and not word",
        "(", "and", f"surely{WORD}",
    ],
)  # fmt: skip
def test_undecidable_keywords_read_all_files(keyword):
    assert selection.pytest_ignore_collect(OTHER, config(keyword)) is None


def test_all_files_are_read_on_request():
    assert selection.pytest_ignore_collect(OTHER, config(WORD, all_files=True)) is None


@pytest.mark.parametrize(
    ("given", "workers"),
    [
        (config(WORD), 0),
        (config("", "tests/test_policy.py"), 0),
        (config("", "tests/test_policy.py::test_x", "tests/test_docs.py"), 0),
        (config(), None),
        (config("def"), None),
        (config("", "tests/managed"), None),
        (config(WORD, "tests/managed"), 0),
        (config("not policy"), None),
    ],
)
def test_a_few_files_take_one_process(given, workers):
    assert selection.pytest_xdist_auto_num_workers(given) == workers
