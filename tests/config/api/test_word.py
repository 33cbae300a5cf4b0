"""The API with another word: each operation answers as it does with ``compute``, after renaming."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from drf_spectacular.generators import SchemaGenerator

from tests.config.api.routes import routes
from tests.examples import operation_of, written

pytestmark = pytest.mark.django_db  # the program needs the database of the tests

OF_CUSTOMERS = {"some-compute", "The network that may connect, besides the compute itself"}
"""The label of an object, and the label of a script's field: texts with the neutral word that stay."""
WORDS = {"vessel": "", "ox": "oxen"}
"""Words, each with its plural if that is irregular."""


@pytest.fixture(params=WORDS, scope="module")
def worded(request, django_db_setup) -> dict[str, Any]:
    """The output of a process with another word (`tests.config.api.worded`)."""
    return run(request.param, WORDS[request.param])


def run(singular: str, plural: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.config.api.worded", str(connection.settings_dict["NAME"])],
        env={**os.environ, "API_WORD": singular, "API_WORD_PLURAL": plural},
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_operation_answers_as_with_the_neutral_word(worded):
    found = worded["operations"]
    assert set(found) == {operation_of(route) for route in routes()}
    expected = {name: each.get("response") for name, each in written().items()}
    assert {name: each["response"] for name, each in found.items()} == expected
    for route in routes():
        assert found[operation_of(route)]["scopes"] == route.scope.accepted


def test_answers_have_the_neutral_word_in_texts_of_customers_alone(worded):
    left = {text.strip('"\\') for each in worded["operations"].values() for text in each["left"]}
    assert left == OF_CUSTOMERS


def test_the_document_differs_in_the_word_only(worded):
    document = SchemaGenerator().get_schema(request=None, public=True)
    assert worded["document"] == json.loads(json.dumps(document))
