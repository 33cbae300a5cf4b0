"""Translations between the neutral form of a name and the word on the wire."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from config import word
from config.errors import Problem
from config.word import QUOTE, Word

VESSEL, OX, NONE = Word("vessel", "vessels"), Word("ox", "oxen"), Word("", "")

NAMES = {
    "compute": ("vessel", "ox"),
    "computes": ("vessels", "oxen"),
    "compute_id": ("vessel_id", "ox_id"),
    "add_computes": ("add_vessels", "add_oxen"),
    "computes:read_only volumes:read_write": (
        "vessels:read_only volumes:read_write",
        "oxen:read_only volumes:read_write",
    ),
    "compute/6.1.10-x86_64-compute156": ("vessel/6.1.10-x86_64-vessel156", "ox/6.1.10-x86_64-ox156"),
    "NullableComputeSettingsList": ("NullableVesselSettingsList", "NullableOxSettingsList"),
    "GPU Computes": ("GPU Vessels", "GPU Oxen"),
    "Compute busy.": ("Vessel busy.", "Ox busy."),
    "A compute boots a compute.": ("A vessel boots a vessel.", "An ox boots an ox."),
    "what the computer computed": ("what the computer computed", "what the computer computed"),
    "labels of boxes": ("labels of boxes", "labels of boxes"),
}


@pytest.mark.parametrize("neutral", NAMES)
def test_a_name_of_the_platform_is_translated_and_back(neutral):
    for spoken, expected in zip((VESSEL, OX), NAMES[neutral], strict=True):
        assert spoken.on_wire(neutral) == expected
        assert spoken.to_neutral(expected) == neutral
        assert spoken.on_wire(expected) == expected
        assert NONE.on_wire(neutral) == NONE.to_neutral(neutral) == NONE.read(neutral) == neutral


def test_a_client_of_another_word_does_not_know_the_neutral_form():
    assert OX.read("ox/debian11") == "compute/debian11"
    assert OX.read("compute/debian11") == "ox/debian11"
    assert OX.read("private/12") == "private/12"


def test_a_text_that_a_client_sent_stays_as_it_was_sent():
    reason = f"Compute {word.quoted('compute-1')} and {word.quoted('')}compute {word.quoted(f'a{QUOTE}compute')}"
    assert OX.on_wire(reason) == "Ox compute-1 and ox acompute"
    assert NONE.with_marks(reason) == reason
    for spoken in (word.spell(reason), word.unquoted(reason), Problem(reason).reason):
        assert spoken == "Compute compute-1 and compute acompute"
        assert spoken.marked == Problem(spoken).reason.marked == reason


def test_names_that_customers_chose_stay_in_paths():
    assert word.path_on_wire("/v4/tags/compute") == "/v4/tags/compute"


def test_json_is_renamed_with_its_keys():
    given = {"compute_id": 1, "tags": ["a compute", None, 2.5]}
    assert OX.renamed(given) == {"ox_id": 1, "tags": ["an ox", None, 2.5]}
    assert NONE.renamed(given) is given


def test_without_a_setting_there_is_no_word():
    assert not word.IS_SET


SENTENCE = re.compile(r"\b[Cc]omputes?\b( .*)?[a-z]\.$")


def calls_and_texts(folders: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences with the word in the code, and whether each is declared."""
    for path in sorted(Path(settings.BASE_DIR).glob(folders)):
        tree = ast.parse(path.read_text())
        declared = {
            id(node.args[0])
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "word.sentence"
        }
        written = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
        for node in texts:
            if id(node) not in written and SENTENCE.search(node.value) and " " in node.value:
                yield node.value, id(node) in declared


def test_the_messages_of_jobs_are_declared():
    """Messages of jobs are stored. Reasons of services are not, and get the word where they are raised."""
    declared = {text for text, is_declared in calls_and_texts("compute/**/*.py") if is_declared}
    in_workers = {text for text, _ in calls_and_texts("compute/worker/**/*.py")}
    assert len(in_workers) > 5
    assert in_workers <= declared
