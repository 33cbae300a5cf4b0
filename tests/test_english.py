"""The lint for plain English, and the hook for messages of commits."""

import runpy

import pytest

from tests.english import ROOT, check_module, check_page

LONG_SENTENCE = " ".join(["word"] * 31)


def problems_of_module(source: str, path: str = "config/example.py") -> list[str]:
    return [str(finding) for finding in check_module(path, source)]


def test_a_docstring_that_begins_with_a_pronoun_is_found():
    found = problems_of_module('def send():\n    """What is sent."""\n\n\nLIMIT = 1\n"""Those that fit."""\n')
    assert [line.partition(":")[2][:1] for line in sorted(found)] == ["2", "6"]
    assert all("begins with a pronoun" in line for line in found)


def test_a_docstring_below_an_attribute_is_read():
    assert (
        len(
            problems_of_module(
                'class A:\n    def send(self):\n        self.sent = 1\n        """What is sent."""\n'
            )
        )
        == 1
    )


def test_a_comment_that_begins_with_a_pronoun_is_found():
    found = problems_of_module(
        '"""Send."""\n\n# What is sent.\n\nA = 1  #: Those that fit\n\n# A text:\n# what is sent\n# What else\n'
    )
    assert [line.split(":")[1] for line in sorted(found)] == ["3", "5"]
    assert all("a comment begins with a pronoun" in line for line in found)


@pytest.mark.parametrize("text", ["Send it.", "Whatsoever", "Items that fit."])
def test_other_first_words_are_allowed(text):
    assert problems_of_module(f'"""{text}"""\n# {text}\n') == []


def test_long_sentences_are_found_in_docstrings_and_pages():
    assert len(problems_of_module(f'"""Short. {LONG_SENTENCE}. Short."""')) == 1
    assert (
        len(list(check_page("docs/example.md", f"# Title\n\nShort. {LONG_SENTENCE}.\n\n- {LONG_SENTENCE}\n"))) == 2
    )


def test_code_tables_and_short_items_are_no_long_sentences():
    items = "\n".join(["- a few words of one item"] * 10)
    page = f"{items}\n\n```sh\n{LONG_SENTENCE}\n```\n\n| {LONG_SENTENCE} |\n\nOne `{LONG_SENTENCE}` is one word.\n"
    assert list(check_page("docs/example.md", page)) == []


@pytest.mark.parametrize("path", ["config/example.py", "tests/example.py"])
@pytest.mark.parametrize(
    "source",
    [
        "def look():\n    pass\n",
        "class Desk:\n    pass\n",
        "def send(said):\n    pass\n",
        "def send(*, told=1):\n    pass\n",
        "send = lambda *held: None\n",
        "def send():\n    said = 1\n",
        "for held in ():\n    pass\n",
        "with open() as holding:\n    pass\n",
        "if told := send():\n    pass\n",
        "class A:\n    held: int = 1\n",
        "self.told = []\n",
        "import os as look\n",
        "try:\n    pass\nexcept OSError as said:\n    pass\n",
        "first, (second, told) = send()\n",
        "_look = 1\n",
        "MOST = 3\n",
        "MOST: int = 3\n",
        "FIRST, _LOCK = 1, 2\n",
    ],
)
def test_private_words_are_found_where_they_become_names(source, path):
    assert ["is a private word" in line for line in problems_of_module(source, path)] == [True]


@pytest.mark.parametrize(
    "source",
    ["text.held()\n", "send(told=1)\n", "class Power:\n    OFF = 1\n", "household = told\n", "'said'\n"],
)
def test_uses_of_names_and_members_of_classes_are_allowed(source):
    assert problems_of_module(source) == []


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
def test_the_hook_finds_problems_of_a_message(message, number):
    problems = runpy.run_path(str(ROOT / ".ci" / "hooks" / "commit-msg"))["problems"]
    assert len(problems(message)) == number
