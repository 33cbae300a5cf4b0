"""The lint for plain English, and the hook for messages of commits."""

import runpy

import pytest

from tests.english import ROOT, check_module, check_page

LONG = " ".join(["word"] * 31)


def problems_of_module(source: str, path: str = "config/example.py") -> list[str]:
    return [str(finding) for finding in check_module(path, source)]


def test_a_docstring_that_begins_with_a_pronoun_is_found():
    found = problems_of_module('def send():\n    """What is sent."""\n\n\nLIMIT = 1\n"""Those that fit."""\n')
    assert [line.partition(":")[2][:1] for line in sorted(found)] == ["2", "6"]
    assert all("begins with a pronoun" in line for line in found)


@pytest.mark.parametrize("text", ["Send it.", "Whatsoever", "Items that fit."])
def test_other_first_words_are_allowed(text):
    assert problems_of_module(f'"""{text}"""') == []


def test_long_sentences_are_found_in_docstrings_and_pages():
    assert len(problems_of_module(f'"""Short. {LONG}. Short."""')) == 1
    assert len(list(check_page("docs/example.md", f"# Title\n\nShort. {LONG}.\n\n- {LONG}\n"))) == 2


def test_code_tables_and_short_items_are_no_long_sentences():
    items = "\n".join(["- a few words of one item"] * 10)
    page = f"{items}\n\n```sh\n{LONG}\n```\n\n| {LONG} |\n\nOne `{LONG}` is one word.\n"
    assert list(check_page("docs/example.md", page)) == []


def test_private_words_are_found_as_names():
    found = problems_of_module("def look():\n    told = 1\n\n\nclass Desk:\n    pass\n\n\nMOST = 3\n")
    assert len(found) == 3
    assert len(problems_of_module("def look():\n    pass\n\n\nMOST = 3\n", "tests/example.py")) == 1


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("jobs: reconnect the worker\n\nIt lost an acknowledgement.\n", 0),
        ("Merge branch 'x'\n", 0),
        ("jobs: reconnect the worker\n# a comment\n", 1),
        ("Reconnect the worker\n\nWhy.\n", 1),
        (f"jobs: {'a' * 55}\n\nWhy.\n", 1),
        ("jobs: reconnect\nWhy.\n\nMore.\n", 1),
        ("", 2),
    ],
)
def test_the_hook_finds_what_is_wrong_with_a_message(message, number):
    problems = runpy.run_path(str(ROOT / ".ci" / "hooks" / "commit-msg"))["problems"]
    assert len(problems(message)) == number
