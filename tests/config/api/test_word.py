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

from accounts.models import Event, User
from config.word import Word, rename_all
from tests.config.api.routes import routes
from tests.examples import operation_of, written
from tests.factories import GlobalGrantsFactory, UserFactory, token_of
from tests.world import world

__all__ = ["world"]

pytestmark = pytest.mark.django_db  # the program needs the database of the tests

OF_CUSTOMERS = {"some-compute"}
"""The label of an object, a text with the neutral word that stays."""
WORDS = {"vessel": "", "ox": "oxen"}
"""Words, each with its plural if that is irregular."""


@pytest.fixture(params=WORDS, scope="module")
def worded(request, django_db_setup) -> dict[str, Any]:
    """The output of a process with another word (`tests.config.api.worded`)."""
    return run(request.param, WORDS[request.param])


def run(singular: str, plural: str) -> dict[str, Any]:
    return json.loads(output("worded", singular, plural, str(connection.settings_dict["NAME"])))


def output(program: str, singular: str, plural: str, *arguments: str) -> str:
    """Return the output of a program in this folder, in a process with this word."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.config.api.{program}", *arguments],
        env={**os.environ, "API_WORD": singular, "API_WORD_PLURAL": plural},
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


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


READS = [
    ("GET", "/v4/compute/instances", None),
    ("GET", "/v4/account/events", None),
    ("GET", "/v4/tags/blue", None),
    ("GET", "/v4/account/users/reader/grants", None),
    ("GET", "/v4/account/quotas", None),
]


@pytest.mark.django_db(transaction=True)
def test_one_database_is_served_with_one_word_then_another_then_the_first(world):
    """Rows keep the neutral form. Only a default label has the word of its making."""
    user = User.objects.get(pk=world.actor.user_id)
    reader = UserFactory(account=world.account, username="reader", restricted=True)
    GlobalGrantsFactory(user=reader)
    token = token_of(user)
    create = {"region": world.region.pk, "type": world.type.pk, "tags": ["blue", "compute"], "group": "my compute"}
    ((status, made),) = calls("vessel", token, [("POST", "/v4/compute/instances", create)])
    assert (status, made["label"], made["tags"]) == (200, f"vessel{made['id']}", ["blue", "compute"])
    assert Event.objects.get(entity_id=made["id"]).action == "compute_create"

    first, other, again = (calls(word, token, READS) for word in ("vessel", "ox", "vessel"))

    assert again == first
    assert {status for status, _ in first} == {200}
    assert other[0][1]["data"][0]["label"] == made["label"], "the label is the customer's"
    other = json.loads(json.dumps(other).replace(made["label"], f"ox{made['id']}"))
    vessel, ox = Word("vessel", "vessels"), Word("ox", "oxen")
    assert rename_all(other, ox.to_neutral) == rename_all(first, vessel.to_neutral)


def calls(singular: str, token: str, requests: list[tuple[str, str, Any]]) -> list[tuple[int, Any]]:
    """Send requests to a process with this word, on the database of the test. Return statuses and bodies."""
    name = str(connection.settings_dict["NAME"])
    answers = output("word_calls", singular, WORDS[singular], name, token, json.dumps(requests))
    return [tuple(each) for each in json.loads(answers)]
